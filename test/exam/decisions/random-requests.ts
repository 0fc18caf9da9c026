import type { Test } from 'tap';
import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import { loadRuleSet } from '../../../src/rules/parse/load.ts';
import { Decisions } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { grown, type OpenStore } from './examinee.ts';
import { randomDescriptor, randomEntries } from './random-rules.ts';
import { type EntryText, ruleFile } from './rule-file.ts';
import { type SlowOptions, SlowService } from './slow-service.ts';

const ROUNDS = 4;
const BATCHES = 20;
const NO_MODES = { shadow: false, quota: false };

/**
 * Seeded random rules and requests, decided in batches and compared with a service that takes one request after the
 * other: every status, every code and every statistic.
 */
export function examineRandomRequests(t: Test, open: OpenStore): void {
  const compare = (sentence: string, options: SlowOptions, seed: number): void => {
    t.test(`${sentence} (seed ${seed})`, async t => {
      const random = new SeededRandom(seed);
      for (let round = 0; round < ROUNDS; round++) await compareRound(t, { open, options, random, round });
    });
  };
  compare(
    'batches are decided like requests one by one',
    { holdBack: false, localCache: false, modes: NO_MODES },
    1,
  );
  compare('and so they are holding back', { holdBack: true, localCache: false, modes: NO_MODES }, 2);
  compare(
    'and in the global modes',
    { holdBack: false, localCache: false, modes: { shadow: true, quota: true } },
    3,
  );
  compare('single requests use the local cache', { holdBack: false, localCache: true, modes: NO_MODES }, 4);
  compare('single requests use it holding back', { holdBack: true, localCache: true, modes: NO_MODES }, 5);
}

interface Round {
  readonly open: OpenStore;
  readonly options: SlowOptions;
  readonly random: SeededRandom;
  readonly round: number;
}

async function compareRound(t: Test, { open, options, random, round }: Round): Promise<void> {
  const entries = randomEntries(random, 2);
  const rules = ruleFile(...entries);
  const { holdBack, localCache, modes } = options;
  const decisions = new Decisions({
    store: await open(),
    rules,
    options: { holdBack, modes },
    localCacheBytes: localCache ? 1 : 0,
  });
  const model = new SlowService(
    loadRuleSet([{ name: 'rules.yaml', content: Buffer.from(rules) }], { mergeDomains: false }),
    options,
  );
  // What the cache learns within a batch is used by the next one only.
  const batchSize = (): number => (localCache ? 1 : random.below(12) === 0 ? 100 : 1 + random.below(8));
  const growth = await grown(decisions, async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      const requests = Array.from({ length: batchSize() }, () => randomRequest(random, entries));
      const nowS = Math.floor(decisions.clock.nowMs() / 1_000);
      const expected = requests.map(each => model.decide(each, nowS));
      const found = await Promise.all(requests.map(each => decisions.ask(each)));
      const same = JSON.stringify(found) === JSON.stringify(expected);
      if (!same) t.strictSame({ requests, answers: found }, { requests, answers: expected }, rules);
      if (random.below(4) === 0) decisions.clock.advance(random.below(90_000));
    }
  });
  t.strictSame(growth, model.statistics, `statistics of round ${round}: ${rules}`);
}

/** A request of up to four descriptors, most of which match some entry. */
export function randomRequest(random: SeededRandom, entries: readonly EntryText[]): RateLimitRequest {
  return {
    domain: random.below(20) === 0 ? 'other' : 'd',
    descriptors: Array.from({ length: 1 + random.below(4) }, () => randomDescriptor(random, entries)),
    hitsAddend: random.below(2) === 0 ? 0 : random.below(6),
  };
}
