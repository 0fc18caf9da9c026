import t from 'tap';
import {
  ACTION,
  LEASE,
  LEASE_MODE,
  LeaseStep,
  type LeaseTerms,
  STEP,
} from '../../../../src/counters/leases/lease.ts';

const RESERVE: LeaseTerms = {
  mode: LEASE_MODE.reserve,
  forS: 600,
  hasHolders: true,
  estimate: 0,
  settles: true,
  zeroSettles: false,
  allowsOverdraft: false,
};
const ALONE: LeaseTerms = { ...RESERVE, mode: LEASE_MODE.concurrency, settles: false };
const BESIDE: LeaseTerms = { ...RESERVE, mode: LEASE_MODE.concurrency };
const ONCE: LeaseTerms = { ...RESERVE, mode: LEASE_MODE.once };

/** What a call brings: hits, or an action with hits. */
type Call = number | 'refund of 3' | 'refund of 9' | readonly [keyof typeof ACTION, number];

/** What is known of the holder: the state of its lease, and hits. */
type Known = 'nothing' | readonly [keyof typeof LEASE, number];

/** The step, in words, and its hits. */
function stepOf(terms: LeaseTerms, call: Call, known: Known, isNamed = true): string {
  const step = new LeaseStep();
  const [action, hits] =
    typeof call === 'object'
      ? call
      : (['any', typeof call === 'number' ? call : Number(call.at(-1))] as const);
  const [state, held] = known === 'nothing' ? (['none', 0] as const) : known;
  const isRefund = typeof call === 'string';
  step.choose(
    terms,
    { action: ACTION[action], hits, isRefund, isNamed },
    { state: LEASE[state], hits: held },
  );
  const name = Object.entries(STEP).find(([, kind]) => kind === step.kind)![0];
  return step.hits === 0 ? name : `${name} ${step.hits}`;
}

/** Rows: a call, and its step for a holder of which nothing is known, with a live lease, a settled one and an expired one. */
type Row = readonly [Call, nothing: string, live: string, settled: string, expired: string];

const LIVE = ['live', 5] as const;
const SETTLED = ['settled', 4] as const;
const EXPIRED = ['expired', 5] as const;

function shows(title: string, terms: LeaseTerms, rows: readonly Row[]): void {
  t.test(title, async t => {
    for (const [call, ...expected] of rows) {
      const found = (['nothing', LIVE, SETTLED, EXPIRED] as const).map(known => stepOf(terms, call, known));
      t.same(found, expected, `${call}`);
    }
  });
}

shows('a limit that reserves', RESERVE, [
  // call            nothing       live          settled     expired
  [7, 'take 7', 'settle 7', 'take 7', 'settle 7'],
  [4, 'take 4', 'settle 4', 'repeat', 'settle 4'],
  [0, 'ask', 'extend', 'ask', 'take 5'],
  ['refund of 3', 'nothing', 'settle 2', 'nothing', 'settle 2'],
  ['refund of 9', 'nothing', 'settle', 'nothing', 'settle'],
  [['reserve', 7], 'take 7', 'take 7', 'take 7', 'take 7'],
  [['settle', 7], 'settle 7', 'settle 7', 'nothing', 'settle 7'],
  [['settle', 0], 'nothing', 'settle', 'nothing', 'settle'],
  [['release', 0], 'nothing', 'settle', 'nothing', 'nothing'],
  [['extend', 0], 'ask', 'extend', 'ask', 'take 5'],
]);

shows('a limit that reserves an estimate', { ...RESERVE, estimate: 6 }, [
  [0, 'take 6', 'extend', 'ask', 'take 5'],
  [7, 'take 7', 'settle 7', 'take 7', 'settle 7'],
  [['reserve', 0], 'take 6', 'take 6', 'take 6', 'take 6'],
]);

shows('a limit whose leases end with a call without hits', { ...RESERVE, zeroSettles: true }, [
  [0, 'ask', 'settle', 'ask', 'settle'],
  [['extend', 0], 'ask', 'extend', 'ask', 'take 5'],
]);

shows('a limit on concurrency alone', ALONE, [
  [1, 'take 1', 'take 1', 'take 1', 'take 1'],
  [0, 'ask', 'extend', 'ask', 'take 5'],
  ['refund of 3', 'nothing', 'free 3', 'nothing', 'free 3'],
  ['refund of 9', 'nothing', 'settle', 'nothing', 'settle'],
  [['reserve', 2], 'take 2', 'take 2', 'take 2', 'take 2'],
  [['settle', 7], 'nothing', 'settle', 'nothing', 'settle'],
  [['release', 0], 'nothing', 'settle', 'nothing', 'nothing'],
]);

shows('a limit on concurrency beside one that is settled', BESIDE, [
  [700, 'take 1', 'settle', 'take 1', 'settle'],
  [4, 'take 1', 'settle', 'repeat', 'settle'],
  [0, 'ask', 'extend', 'ask', 'take 1'],
  ['refund of 3', 'nothing', 'settle', 'nothing', 'settle'],
]);

shows('a plain limit beside one that is settled', ONCE, [
  [1, 'take 1', 'settle', 'take 1', 'settle'],
  [4, 'take 4', 'settle', 'repeat', 'settle'],
  ['refund of 3', 'nothing', 'settle', 'nothing', 'settle'],
  [['settle', 7], 'nothing', 'settle', 'nothing', 'settle'],
]);

t.test('a call that names no holder', async t => {
  for (const [terms, call, step] of [
    [RESERVE, 7, 'spend 7'],
    [RESERVE, 0, 'ask'],
    [RESERVE, 'refund of 3', 'giveBack 3'],
    [ONCE, 1, 'spend 1'],
    [ALONE, 1, 'take 1'],
    [ALONE, 0, 'ask'],
    [ALONE, 'refund of 3', 'nothing'],
    [BESIDE, 700, 'take 1'],
  ] as const) {
    t.equal(stepOf(terms, call, 'nothing', false), step, `${terms.mode} ${call}`);
  }
});

t.test('a limit without holders knows the lease that ends first', async t => {
  const terms = { ...RESERVE, hasHolders: false, estimate: 6 };
  for (const [call, nothing, live] of [
    [0, 'take 6', 'take 6'],
    [7, 'settle 7', 'settle 7'],
    ['refund of 3', 'giveBack 3', 'giveBack 3'],
    [['release', 0], 'nothing', 'settle'],
  ] as const) {
    t.equal(stepOf(terms, call, 'nothing', false), nothing, `${call}`);
    t.equal(stepOf(terms, call, LIVE, false), live, `${call}`);
  }
});
