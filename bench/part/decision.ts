// How long a decision takes between front and store, on the embedded store.
// Run: node build/bench/part/decision.js [pattern …], by default all patterns in one process.
import { ByteWriter } from '../../src/base/bytes.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/base/logger.ts';
import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';
import type { FingerprintKey } from '../../src/counters/fingerprint.ts';
import { AnswerAdditions } from '../../src/decision/answers/additions.ts';
import { Batcher } from '../../src/decision/batching/batcher.ts';
import { Engine } from '../../src/decision/engine.ts';
import { RuleGeneration, RuleStatistics } from '../../src/decision/statistics/rule-statistics.ts';
import { jsonToRequest } from '../../src/messages/json-request.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { ANSWER } from '../../src/rules/domain-answers.ts';
import { loadRuleSet } from '../../src/rules/parse/load.ts';
import { Histogram } from '../../src/stats/histogram.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import { LIMIT_KINDS, type LimitKindName } from '../load/decisions/limit-kinds.ts';

const DECISIONS = 1_000_000;
const REPETITIONS = 5;
const KEY: FingerprintKey = [1, 2, 3, 4];

const RULES = `domain: bench
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 1000000}
  - key: blocked
    rate_limit: {unit: hour, requests_per_unit: 0}
  - key: path
    value: /api/*
    rate_limit: {unit: minute, requests_per_unit: 1000000}
    descriptors:
      - key: method
        rate_limit: {unit: minute, requests_per_unit: 1000000}
  - key: budget
    holder: request
    rate_limit: {unit: hour, requests_per_unit: 1000000000000, reserve: {for: 10m}}
  - key: slots
    holder: request
    rate_limit: {concurrency: {limit: 1000000, for: 10m}}
${(['plain', 'several', 'sliding', 'bucket', 'classes'] as const).map(ruleOf).join('')}`;

function ruleOf(kind: LimitKindName): string {
  const lines = LIMIT_KINDS[kind].lines.map(line => `    ${line}\n`);
  return `  - key: ${kind}\n${lines.join('')}`;
}

type Descriptor = readonly (readonly [string, string])[];

/** What is asked, by the number of the request. */
const PATTERNS: Readonly<Record<string, (n: number) => readonly Descriptor[]>> = {
  'one hot key': () => [[['user', 'ann']]],
  '100 000 keys': n => [[['user', `user-${n % 100_000}`]]],
  'four descriptors': n => [
    [['user', `user-${n % 100_000}`]],
    [['path', '/api/users']],
    [
      ['path', `/api/${n % 100}`],
      ['method', 'GET'],
    ],
    [['plan', 'none']],
  ],
  refused: n => [[['blocked', `user-${n % 100_000}`]]],
  'no rule matches': n => [[['other', `value-${n % 1_000}`]]],
  ...patternsOf('plain'),
  ...patternsOf('several'),
  ...patternsOf('sliding'),
  ...patternsOf('bucket'),
  ...patternsOf('classes'),
  'a lease, one key': n => [leasedBy(n, ['budget', 'ann'])],
  'a lease, 100 000': n => [leasedBy(n, ['budget', `user-${(n >> 1) % 100_000}`])],
  'a slot, one key': n => [leasedBy(n, ['slots', 'ann'])],
  'a class, one key': () => [
    [
      ['classes', 'ann'],
      ['tier', 'critical'],
    ],
  ],
};

/** Every second request is that of the holder of the one before, and ends its lease. */
function leasedBy(n: number, entry: readonly [string, string]): Descriptor {
  return [entry, ['request', `00000000-0000-4000-8000-${String(n >> 1).padStart(12, '0')}`]];
}

/** What a request counts: a lease of 2 hits is settled with 1, and a slot is taken and given back. */
function hitsOf(descriptor: Descriptor, n: number): object {
  const [[kind], holder] = descriptor;
  if (holder?.[0] !== 'request') return {};
  if (kind === 'slots') return { hitsAddend: 1, isNegativeHits: n % 2 === 1 };
  return { hitsAddend: 2 - (n % 2) };
}

function patternsOf(kind: LimitKindName): Record<string, (n: number) => readonly Descriptor[]> {
  const { title } = LIMIT_KINDS[kind];
  return {
    [`${title}, one key`]: () => [[[kind, 'ann']]],
    [`${title}, 100 000`]: n => [[[kind, `user-${n % 100_000}`]]],
  };
}

const silent: Logger = {
  error: message => console.error(message),
  warning: message => console.error(message),
  info: () => {},
  debug: () => {},
  trace: () => {},
  enabled: () => false,
};

/** Everything that an answer can contain in addition. */
const ALL_ANSWERS = Object.values(ANSWER).reduce((bits: number, bit) => bits | bit, 0);

function openBatcher(answers: number): Batcher {
  const stats = new StatsRegistry();
  const statistics = new RuleStatistics();
  const rules = loadRuleSet([{ name: 'bench.yaml', content: Buffer.from(RULES) }], { mergeDomains: false });
  const generation = new RuleGeneration(new CompiledRules(compileRules(rules, { answers })));
  statistics.publish(generation);
  const counter = stats.counter('errors');
  const options = {
    cacheKeyPrefix: '',
    expirationJitterMaxSeconds: 300,
    nearLimitRatio: 0.8,
    holdBack: false,
    modes: { shadow: false, quota: false },
    headerNames: null,
    dynamicMetadata: false,
    answers,
  };
  const engine = new Engine({
    options,
    additions: new AnswerAdditions(options),
    store: new EmbeddedCounterStore(CounterTable.create(1_048_576)),
    overLimit: null,
    counters: {
      storeError: counter,
      serviceError: counter,
      cancelled: counter,
      globalShadowMode: counter,
      banned: counter,
      passed: counter,
    },
    clock: systemClock,
    logger: silent,
    random: Math.random,
    nowMs: null,
  });
  const batcher = new Batcher({
    engine,
    pool: null,
    named: statistics,
    fingerprintKey: KEY,
    maxQueued: 65_536,
    window: null,
    earlyRequests: 64,
    serviceError: counter,
    batchSizes: new Histogram(),
  });
  batcher.use(generation);
  return batcher;
}

function requestsOf(pattern: (n: number) => readonly Descriptor[]): Uint8Array[] {
  const writer = new ByteWriter();
  return Array.from({ length: 100_000 }, (_, n) => {
    const descriptors = pattern(n).map(entries => ({
      entries: entries.map(([key, value]) => ({ key, value })),
      ...hitsOf(entries, n),
    }));
    writer.reset();
    jsonToRequest(Buffer.from(JSON.stringify({ domain: 'bench', descriptors })), writer);
    return writer.take();
  });
}

/** Median nanoseconds for each decision when `batch` requests arrive together. */
async function nanoseconds(requests: readonly Uint8Array[], batch: number, answers: number): Promise<number> {
  const batcher = openBatcher(answers);
  let answered = 0;
  const reply = {
    gone: false,
    answered: () => {
      answered++;
    },
    refused: (fault: Error) => {
      throw fault;
    },
  };
  const times: number[] = [];
  for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
    const began = performance.now();
    for (let n = 0; n < DECISIONS; n += batch) {
      for (let i = 0; i < batch; i++) batcher.decide(requests[(n + i) % requests.length], 'protobuf', reply);
      await Promise.resolve();
    }
    await batcher.drained();
    // The first repetition warms up.
    if (repetition > 0) times.push(((performance.now() - began) * 1e6) / DECISIONS);
  }
  if (answered !== DECISIONS * (REPETITIONS + 1)) throw new Error(`${answered} answers`);
  return times.sort((a, b) => a - b)[REPETITIONS >> 1];
}

console.log('ns per request (median)   1 at a time   32 at a time');
const wanted = process.argv.slice(2);
async function report(
  name: string,
  pattern: (n: number) => readonly Descriptor[],
  answers: number,
): Promise<void> {
  if (wanted.length > 0 && !wanted.includes(name)) return;
  const requests = requestsOf(pattern);
  const alone = await nanoseconds(requests, 1, answers);
  const together = await nanoseconds(requests, 32, answers);
  console.log(`${name.padEnd(22)} ${alone.toFixed(0).padStart(14)} ${together.toFixed(0).padStart(14)}`);
}
for (const [name, pattern] of Object.entries(PATTERNS)) await report(name, pattern, 0);
await report('allowed, explained', PATTERNS['100 000 keys'], ALL_ANSWERS);
await report('refused, explained', PATTERNS['refused'], ALL_ANSWERS);
