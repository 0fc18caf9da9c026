import type { Test } from 'tap';
import type { DescriptorExplanation } from '../../../src/decision/explain/explain-descriptor.ts';
import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { grown, type OpenStore } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

const HOUR = { unit: 'hour' };

/** The clock stands at 22:13:20. */
const RULES = ruleFile(
  { key: 'tokens', holder: 'id', rate_limit: limit(100, { ...HOUR, reserve: { for: '10m' } }) },
  { key: 'slots', holder: 'id', rate_limit: { concurrency: { limit: 2, for: '5m' } } },
  {
    key: 'both',
    holder: 'id',
    rate_limits: [
      limit(100, { reserve: { for: '5m', estimate: 7 } }),
      { concurrency: { limit: 1, for: '5m' } },
      limit(10, { unit: 'day' }),
    ],
  },
  {
    key: 'lenient',
    holder: 'id',
    rate_limit: limit(100, { reserve: { for: '5m', overdraft: 'allow', zero_hits: 'settle' } }),
  },
);

/** What explanations say about limits with leases: what is decided next, without deciding it. */
export function examineLeaseExplanations(t: Test, open: OpenStore): void {
  examine(t, open, false);
}

/** The same of a store in which leases end by the clock of the decisions. */
export function examineLeaseTimes(t: Test, open: OpenStore): void {
  examine(t, open, true);
  examineEnds(t, open);
}

function examine(t: Test, open: OpenStore, isTimed: boolean): void {
  const asking = async (): Promise<Decisions> => new Decisions({ store: await open(), rules: RULES });

  t.test('an explanation tells what is spent and held, and what the request would do', async t => {
    const decisions = await asking();
    t.match((await explained(decisions, 'tokens=x,id=1', 30)).leases, {
      spent: 0,
      held: 0,
      count: 0,
      firstEnds: null,
      step: 'holds 30 hits for 10m',
    });
    await ask(decisions, 'tokens=x,id=1', 30);
    await ask(decisions, 'tokens=x,id=2', 20);
    await ask(decisions, 'tokens=x,id=2', 15);
    t.match(await explained(decisions, 'tokens=x,id=1', 25), {
      level: '15 hits are spent in this window, and 30 are held',
      count: { now: 45, after: 40, heldBack: false, refused: false },
      leases: { spent: 15, held: 30, count: 1, step: 'settles a lease of 30 hits with 25' },
    });
    t.match((await explained(decisions, 'tokens=x,id=2', 15)).leases, {
      step: 'does nothing: the same call has settled the lease before',
    });
  });

  const steps: readonly (readonly [text: string, hits: number, step: string])[] = [
    ['tokens=x,id=3', 99, 'refused: there is no room to do it (holds 99 hits for 10m)'],
    ['tokens=x', 3, 'spends 3 hits at once, because the request names no holder'],
    ['tokens=x,id=1', 0, 'extends the lease: it ends 10m from now on'],
    ['tokens=x,id=3', 0, 'only asks whether there is room'],
    ['slots=x,id=1', 1, 'takes 1 slot for 5m'],
    ['lenient=x,id=1', 0, 'settles a lease of 5 hits with 0'],
    ['lenient=x,id=1', 9, 'settles a lease of 5 hits with 9'],
  ];
  t.test('each step has words', async t => {
    const decisions = await asking();
    await ask(decisions, 'tokens=x,id=1', 30);
    await ask(decisions, 'slots=x,id=1');
    await ask(decisions, 'lenient=x,id=1', 5);
    for (const [text, hits, step] of steps) {
      t.equal((await explained(decisions, text, hits)).leases?.step, step, text);
    }
    const { descriptors } = await decisions.explain(refund('d', 1, 'slots=x,id=1'));
    t.equal(descriptors[0].leases?.step, 'frees 1 slot of the holder');
    const unknown = await decisions.explain(refund('d', 1, 'slots=x,id=9'));
    t.equal(unknown.descriptors[0].leases?.step, 'does nothing: the holder has no lease to end');
  });

  t.test('each limit of an entry is explained, and one that is full holds back the others', async t => {
    const decisions = await asking();
    const { limits } = await explained(decisions, 'both=x,id=1', 3);
    t.match(limits, [
      { leases: { step: 'holds 3 hits for 5m' } },
      { leases: { step: 'takes 1 slot for 5m' } },
      { leases: { step: 'spends 3 hits, as the first call of the holder' } },
    ]);
    await ask(decisions, 'both=x,id=1', 3);
    const second = (await explained(decisions, 'both=x,id=2', 0)).limits;
    t.match(second, [
      {
        count: { now: 3, after: 3, heldBack: true },
        leases: { held: 3, step: 'refused: there is no room to do it (holds 7 hits for 5m)' },
      },
      { outcome: 'over', count: { now: 1, after: 1, refused: true } },
      { count: { now: 3, after: 3, heldBack: true }, leases: { spent: 3, held: 0, count: 1 } },
    ]);
  });

  t.test('a request that asks a limit twice is explained as it is decided', async t => {
    const decisions = await asking();
    const twice = (...hits: readonly [number, number]) =>
      request('d', ...hits.map((hitsAddend, i) => descriptor(`tokens=x,id=${i}`, { hitsAddend })));
    for (const asked of [twice(60, 41), twice(60, 40)]) {
      const told = await decisions.explain(asked);
      const answer = JSON.parse((await decisions.askJson(asked)).text);
      t.strictSame(timeless(answer, isTimed), timeless(told.answer, isTimed));
    }
  });

  t.test('an explanation tells the decision that follows, and changes nothing', async t => {
    const decisions = await asking();
    const calls: readonly (readonly [text: string, hits: number])[] = [
      ['tokens=x,id=1', 60],
      ['tokens=x,id=2', 41],
      ['tokens=x,id=1', 0],
      ['tokens=x,id=1', 80],
      ['tokens=x,id=1', 80],
      ['tokens=x,id=3', 20],
      ['slots=x,id=1', 1],
      ['slots=x,id=1', 1],
      ['slots=x,id=2', 1],
      ['both=x,id=1', 5],
      ['both=x,id=2', 5],
      ['both=x,id=1', 12],
      ['both=x,id=2', 0],
      ['lenient=x,id=1', 50],
      ['lenient=x,id=1', 90],
      ['lenient=x,id=2', 50],
    ];
    for (const waitMs of [1_000, 400_000]) {
      for (const [text, hits] of calls) {
        const asked = request('d', descriptor(text, { hitsAddend: hits }));
        const counted = await grown(decisions, async () => {
          const told = await decisions.explain(asked);
          if (isTimed) t.strictSame(await decisions.explain(asked), told);
          await decisions.listLeases(asked);
          const answer = JSON.parse((await decisions.askJson(asked)).text);
          t.strictSame(timeless(answer, isTimed), timeless(told.answer, isTimed), `${text} ${hits}`);
        });
        const totals = Object.keys(counted).filter(name =>
          /rate_limit\.d\.\w+(\.\w+)?\.total_hits$/.test(name),
        );
        t.ok(totals.every(name => counted[name] <= Math.max(hits, 7) || name.includes('expired')));
      }
      if (isTimed) decisions.clock.advance(waitMs);
    }
  });

  t.test('the leases of a key are counted, and listed with their holders', async t => {
    const decisions = await asking();
    await ask(decisions, 'tokens=x,id=1', 30);
    await ask(decisions, 'tokens=y,id=2', 20);
    await ask(decisions, 'slots=x,id=3');
    const { descriptors } = await decisions.listLeases(request('d', 'tokens=x', 'slots=x', 'lenient=x'));
    t.match(descriptors, [
      { leases: { count: 1, listed: [{ holder: '1', hits: 30 }] } },
      { leases: { count: 1, listed: [{ holder: '3', hits: 1 }] } },
      { leases: { count: 0, listed: [] } },
    ]);
  });
}

function examineEnds(t: Test, open: OpenStore): void {
  const asking = async (): Promise<Decisions> => new Decisions({ store: await open(), rules: RULES });

  t.test('whatever calls do, an explanation tells the decision that follows', async t => {
    const random = new SeededRandom(7);
    const decisions = await asking();
    const keys = ['tokens', 'slots', 'both', 'lenient'];
    for (let i = 0; i < 400; i++) {
      const asked = randomCalls(random, keys);
      const told = await decisions.explain(asked);
      t.strictSame(JSON.parse((await decisions.askJson(asked)).text), told.answer, `call ${i}`);
      if (random.below(3) === 0) decisions.clock.advance(random.below(200_000));
    }
  });

  t.test('leases that have expired are counted as such after they were explained', async t => {
    const decisions = await asking();
    await ask(decisions, 'tokens=x,id=1', 30);
    decisions.clock.advance(601_000);
    const asked = request('d', 'tokens=x,id=1');
    t.match((await decisions.explain(asked)).descriptors[0], { leases: { held: 0, count: 0 } });
    t.strictSame((await decisions.listLeases(asked)).descriptors[0].leases?.listed, []);
    await ask(decisions, 'tokens=x,id=2', 1);
    t.equal(decisions.rule('d.tokens.expired')['total_hits'], 30);
  });

  t.test('the leases of a key are listed in the order in which they end', async t => {
    const decisions = await asking();
    await ask(decisions, 'tokens=x,id=1', 30);
    decisions.clock.advance(1_000);
    await ask(decisions, 'tokens=x,id=2', 20);
    await ask(decisions, 'tokens=y,id=3', 20);
    await ask(decisions, 'tokens=x,id=1', 0);
    await ask(decisions, 'tokens=x,id=4', 5);
    await ask(decisions, 'tokens=x,id=4', 6);
    const list = async (most: number) =>
      (await decisions.listLeases(request('d', 'tokens=x'), most)).descriptors[0].leases;
    const ends = '2023-11-14T22:23:21.000Z';
    t.match(await list(100), {
      spent: 6,
      held: 50,
      count: 2,
      listed: [
        { holder: '2', hits: 20, ends },
        { holder: '1', hits: 30, ends },
      ],
    });
    t.match(await list(1), { count: 2, listed: [{ holder: '2' }] });
    t.equal((await list(1))?.listed?.length, 1);
  });
}

/** A request with a descriptor for some of the keys, with holders that come again, hits, refunds and actions. */
function randomCalls(random: SeededRandom, keys: readonly string[]): RateLimitRequest {
  const chosen = keys.filter(() => random.below(3) === 0);
  const descriptors = (chosen.length === 0 ? [keys[0]] : chosen).map(key => {
    const holder = random.below(8) === 0 ? '' : `,id=${random.below(5)}`;
    const action = random.below(4) === 0 ? 1 + random.below(4) : 0;
    return {
      ...descriptor(`${key}=x${holder}`, { hitsAddend: random.below(4) === 0 ? 0 : random.below(60) }),
      isNegativeHits: action === 0 && random.below(6) === 0,
      lease: action === 0 ? null : { id: String(random.below(5)), action },
    };
  });
  return { domain: 'd', descriptors, hitsAddend: 1 };
}

/** An answer without the time until limits reset, if the store has another clock. */
function timeless(answer: object, isTimed: boolean): object {
  if (isTimed) return answer;
  return JSON.parse(
    JSON.stringify(answer, (key, value) => (key === 'durationUntilReset' ? undefined : value)),
  );
}

async function explained(decisions: Decisions, text: string, hits = 1): Promise<DescriptorExplanation> {
  const asked = request('d', descriptor(text, { hitsAddend: hits }));
  return (await decisions.explain(asked)).descriptors[0];
}

async function ask(decisions: Decisions, text: string, hitsAddend = 1): Promise<void> {
  await decisions.ask(request('d', descriptor(text, { hitsAddend })));
}
