import t from 'tap';
import type { JsonObject } from '../../../src/base/json.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import type { ResponseFormat } from '../../../src/decision/decider.ts';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
} from '../../../src/messages/client-codec.ts';
import { readHttpResponse } from '../../../src/messages/http-response.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import type { SteeringRecord } from '../../../src/steering/record.ts';
import { bucket, type EntryText, limit, ruleFile, sliding } from '../../exam/decisions/rule-file.ts';
import { Decisions, descriptor } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { sharedStoreKind } from '../../support/stores.ts';

const ALL = ANSWER.retryAfter | ANSWER.ratelimitHeaders | ANSWER.problemBody | ANSWER.matchedRule;

/** Limits that refuse some requests, each in its own way. */
const FEW: readonly EntryText[] = [
  { key: 'minute', rate_limit: limit(2, { unit: 'minute' }) },
  { key: 'window', rate_limit: { window: '90s', requests_per_unit: 2 } },
  { key: 'calendar', rate_limit: { calendar: { period: 'month', zone: 'UTC' }, requests_per_unit: 2 } },
  { key: 'penalty', rate_limit: limit(2, { unit: 'minute', penalty: { after: 2, for: '2m' } }) },
  { key: 'sliding', rate_limit: sliding(2) },
  { key: 'bucket', rate_limit: bucket(2, 2) },
  { key: 'several', rate_limits: [limit(2), limit(3, { unit: 'day' })] },
  { key: 'shadow', shadow_mode: true, rate_limit: limit(0) },
  { key: 'quota', quota_mode: true, rate_limit: limit(0) },
  { key: 'classes', rate_limit: limit(2, { classes: { key: 'tier', a: '100%', b: '50%', c: '50%' } }) },
];

/** More limits than answers that are kept, which refuse everything. */
const MANY = [
  'domain: many',
  'descriptors:',
  ...Array.from({ length: 1_100 }, (_, i) => [
    `  - key: many${i}`,
    '    rate_limit:',
    '      unit: hour',
    '      requests_per_unit: 0',
  ]),
]
  .flat()
  .join('\n');

const RULES = { 'few.yaml': ruleFile(...FEW), 'many.yaml': MANY };
/** Other limits with the same numbers. */
const OTHER_RULES = {
  'few.yaml': ruleFile(...FEW.slice(1), FEW[0]),
  'many.yaml': MANY.replaceAll('unit: hour', 'unit: day'),
};

/** What an answer says, in any format. */
interface Answer {
  readonly dynamicMetadata?: JsonObject | null;
}

const READERS: Readonly<Record<ResponseFormat, (response: Uint8Array) => Answer>> = {
  json: response => JSON.parse(Buffer.from(response).toString()),
  protobuf: response => decodeRateLimitResponse(response),
  http: response => {
    const { headers, body } = readHttpResponse(response);
    return { headers, body: Buffer.from(body).toString() } as Answer;
  },
};

const STEPS = 1_000;

/**
 * Two services that get the same requests. The answers of the second one contain values of the requests, so each of them
 * is encoded; the first one may keep refusals.
 */
class Twins {
  readonly #records = sharedRecords();
  readonly #twins: readonly Decisions[];

  constructor(stores: readonly CounterStore[], options: Partial<EngineOptions>) {
    const steering = this.#records.buffer;
    this.#twins = stores.map(
      (store, i) =>
        new Decisions({
          store,
          rules: RULES,
          options: { answers: ALL, ...options, dynamicMetadata: i === 1 },
          steering,
        }),
    );
  }

  each(change: (twin: Decisions) => void): void {
    this.#twins.forEach(change);
  }

  /** Replaces the steering records. */
  steer(...records: readonly SteeringRecord[]): void {
    this.#records.publish(records);
  }

  /** The answers of both, without what only the second one contains. */
  ask(asked: RateLimitRequest, format: ResponseFormat): Promise<unknown[]> {
    return Promise.all(
      this.#twins.map(async twin => {
        const { response, ...rest } = await twin.askBytes(encodeRateLimitRequest(asked), format);
        const { dynamicMetadata, ...message } = READERS[format](response);
        return { ...message, ...rest, matchedRule: dynamicMetadata?.matched_rule };
      }),
    );
  }
}

const OPTIONS: readonly Partial<EngineOptions>[] = [
  {},
  { holdBack: true, headerNames: { limit: 'L', remaining: 'R', reset: 'T' } },
  { modes: { shadow: false, quota: true } },
  { modes: { shadow: true, quota: false } },
];
for (const [seed, options] of OPTIONS.entries()) {
  t.test(`kept refusals are those that would be encoded: ${JSON.stringify(options)}`, async t => {
    const stores = [await sharedStoreKind.open(t), await sharedStoreKind.open(t)];
    const twins = new Twins(stores, options);
    const random = new SeededRandom(seed);
    let refused = 0;
    for (let step = 0; step < STEPS; step++) {
      change(twins, random);
      const asked = randomRequest(random);
      const [kept, encoded] = await twins.ask(asked, random.pick(['json', 'protobuf', 'http']));
      if ((encoded as { overLimit: boolean }).overLimit) refused++;
      if (JSON.stringify(kept) === JSON.stringify(encoded)) continue;
      t.strictSame(kept, encoded, `step ${step}: ${JSON.stringify(asked)}`);
      break;
    }
    const isShadow = options.modes?.shadow === true;
    t.ok(isShadow ? refused === 0 : refused > STEPS / 2, `${refused} of ${STEPS} requests were refused`);
  });
}

/** Sometimes moves the clock or sets it back, loads other rules, or changes the steering records. */
function change(twins: Twins, random: SeededRandom): void {
  const which = random.below(1_000);
  if (which < 100) {
    const ms = random.pick([1, 400, 1_000, 61_000, -1_000]);
    twins.each(({ clock }) => clock.advance(ms));
  } else if (which < 112) {
    const rules = random.pick([RULES, OTHER_RULES]);
    twins.each(twin => twin.load(rules));
  } else if (which < 160) {
    const text = `${random.pick(FEW).key}=a`;
    const override = record('override', text, { requests_per_unit: 1 + random.below(2) });
    twins.steer(...random.pick([[], [override], [record('ban', text)], [record('pass', text)]]));
  }
}

function randomRequest(random: SeededRandom): RateLimitRequest {
  const isFew = random.below(3) > 0;
  const one = (): string => {
    // Limits that share a place are 512 apart.
    const key = isFew ? random.pick(FEW).key : `many${random.below(3) * 512}`;
    const tier = key === 'classes' ? random.pick([',tier=a', ',tier=b', ',tier=c', '']) : '';
    return `${key}=${random.pick(['a', 'b', 'c'])}${tier}`;
  };
  const texts = random.below(10) === 0 ? [one(), one()] : [one()];
  const own = random.below(20) === 0 ? { limit: { requestsPerUnit: 0, unit: 2 } } : {};
  const hitsAddend = 1 + random.below(3);
  const domain = isFew ? 'd' : 'many';
  return { domain, descriptors: texts.map(text => descriptor(text, own)), hitsAddend };
}
