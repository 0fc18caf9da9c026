import type { Test } from 'tap';
import { Decisions } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { grown, type OpenStore } from './examinee.ts';
import { randomRequest } from './random-requests.ts';
import { type DrawLimits, randomEntries } from './random-rules.ts';
import { ruleFile } from './rule-file.ts';

const ROUNDS = 3;
const REQUESTS = 40;

/** Whatever the rules and the request are: what is explained is what is then decided, and explaining leaves no trace. */
export function examineExplanations(t: Test, open: OpenStore, limits: DrawLimits): void {
  const compare = (holdBack: boolean, modes: { shadow: boolean; quota: boolean }, seed: number): void => {
    const name = `hold back: ${holdBack}, shadow: ${modes.shadow}, quota: ${modes.quota} (seed ${seed})`;
    t.test(`an explanation tells the decision that follows; ${name}`, async t => {
      const random = new SeededRandom(seed);
      for (let round = 0; round < ROUNDS; round++) {
        const entries = randomEntries(random, 2, limits);
        const rules = ruleFile(...entries);
        const headerNames = { limit: 'l', remaining: 'r', reset: 's' };
        const options = { holdBack, modes, headerNames, dynamicMetadata: true };
        const decisions = new Decisions({ store: await open(), rules, options });
        for (let i = 0; i < REQUESTS; i++) {
          const request = randomRequest(random, entries);
          const counted = await grown(decisions, async () => {
            const told = await decisions.explain(request);
            t.strictSame(await decisions.explain(request), told, 'explaining changes nothing');
            t.strictSame(JSON.parse((await decisions.askJson(request)).text), told.answer, rules);
          });
          const hits = Object.entries(counted).filter(([stat]) => stat.endsWith('total_hits'));
          // Each descriptor counts up to three limits, and the class of each.
          t.ok(hits.length <= 6 * request.descriptors.length, 'only the decision is counted');
          if (random.below(4) === 0) decisions.clock.advance(random.below(90_000));
        }
      }
    });
  };
  compare(false, { shadow: false, quota: false }, 21);
  compare(true, { shadow: false, quota: false }, 22);
  compare(false, { shadow: true, quota: true }, 23);
}
