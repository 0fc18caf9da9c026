import t, { type Test } from 'tap';
import { play } from './play.ts';
import type { History, Step } from './steps/step.ts';

type Setup = Partial<Omit<History, 'steps'>> & { readonly steps: readonly Step[] };

const SETUP: Omit<History, 'steps'> = {
  ...{ seed: 1, store: 'server', start: '2026-03-01T12:00:00Z', instances: 1, aheadMs: [], delayMs: 0 },
  ...{ failureMode: 'error', holdsBack: false, hasLocalCache: true },
  modes: { shadow: false, quota: false },
  rules: [],
};

/** Plays a history, as a printed one says it: no promise may be broken, and this must have happened in it. */
function scenario(name: string, setup: Setup, happened: readonly string[] = []): void {
  t.test(name, async (t: Test) => {
    const { violations, coverage } = await play({ ...SETUP, ...setup });
    t.strictSame(violations, []);
    for (const what of happened) t.ok(coverage.has(what), what, { coverage: [...coverage.keys()] });
  });
}

const USER = { key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 5 } };
const FREE = { key: 'free', rate_limit: { unlimited: true } };

scenario(
  'requests that need no store are answered beside those that the store fails',
  {
    rules: [USER, FREE],
    steps: [
      { at: 1_000, do: 'fault', instance: null, kind: 'lost', ms: 3 },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann' }] },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'free=x' }] },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'other=x' }] },
    ],
  },
  ['answer fault store_failed', 'answer unlimited'],
);

scenario(
  'a key that was over its limit in the process is asked about when the store is back',
  {
    failureMode: 'local',
    rules: [USER],
    steps: [
      { at: 1_000, do: 'outage', instance: null, ms: 3_000, hangs: false },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann', hits: 9 }] },
      { at: 1_200, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann' }] },
      { at: 6_000, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann' }] },
    ],
  },
  ['answer fixed window OVER_LIMIT locally', 'answer fixed window OK counted'],
);

scenario(
  'the local cache of a process forgets a key that another one has given back',
  {
    instances: 2,
    rules: [USER],
    steps: [
      { at: 1_000, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann', hits: 6 }] },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann' }] },
      { at: 1_200, do: 'ask', instance: 1, descriptors: [{ of: 'user=ann', hits: 3, isRefund: true }] },
      { at: 2_300, do: 'ask', instance: 0, descriptors: [{ of: 'user=ann' }] },
    ],
  },
  ['answer fixed window OVER_LIMIT cached', 'answer fixed window OK counted'],
);

scenario(
  'threads decide by rules that were loaded at the same moment',
  {
    ...{ store: 'threads', instances: 3 },
    rules: [USER],
    steps: [
      { at: 1_000, do: 'ask', instance: 2, descriptors: [{ of: 'user=ann', hits: 6 }] },
      {
        ...{ at: 2_000, do: 'rules', instance: null },
        rules: [{ key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 8 } }],
      },
      { at: 2_000, do: 'ask', instance: 1, descriptors: [{ of: 'user=ann' }] },
      { at: 2_000, do: 'ask', instance: 2, descriptors: [{ of: 'user=ann' }] },
    ],
  },
  ['answer fixed window OVER_LIMIT counted', 'answer fixed window OK counted'],
);

scenario(
  'a lease whose call had no answer is free when it ends',
  {
    rules: [{ key: 'slots', holder: 'id', rate_limit: { concurrency: { limit: 1, for: '10s' } } }],
    steps: [
      { at: 1_000, do: 'fault', instance: null, kind: 'unanswered', ms: 20 },
      { at: 1_100, do: 'ask', instance: 0, descriptors: [{ of: 'slots=a,id=1' }] },
      { at: 2_000, do: 'ask', instance: 0, descriptors: [{ of: 'slots=a,id=2' }] },
      { at: 11_200, do: 'ask', instance: 0, descriptors: [{ of: 'slots=a,id=2' }] },
    ],
  },
  ['answer fault store_failed', 'answer lease OVER_LIMIT counted', 'answer lease OK counted'],
);
