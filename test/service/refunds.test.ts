import t, { type Test } from 'tap';
import { descriptor } from '../support/decisions.ts';
import { type FrontClient, grpcFront, jsonFront } from '../support/exactness/fronts.ts';
import { memcachedFor } from '../support/memcached-server.ts';
import { clusterFor } from '../support/redis-cluster.ts';
import { redisFor } from '../support/redis-server.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

const LIMIT = 10;
const RULES = `domain: shop
descriptors:
  - key: year
    rate_limit: {unit: year, requests_per_unit: ${LIMIT}}
  - key: month
    rate_limit: {unit: month, requests_per_unit: ${LIMIT}}
`;
const CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' };

/** One call: hits or a refund of one descriptor, and the limit that it brings, if any. */
interface Step {
  readonly text: string;
  readonly hits: number;
  readonly isRefund: boolean;
  readonly ownLimit: number | null;
}

/** A front of one of the processes. */
interface Caller {
  readonly front: FrontClient;
  readonly process: number;
}

/** Higher than any count. */
const NO_LIMIT = 1_000_000;

/** What a call may be told, and the count after it. */
interface Outcome {
  readonly told: readonly [code: string, remaining: number];
  readonly count: number;
}

/** A plain counter for each descriptor, and what local caches may know of it. */
class PlainCounters {
  readonly #counts = new Map<string, number>();
  /**
   * By descriptor and process, the limits that its local cache may know to be exceeded. It then rejects hits without
   * counting them.
   */
  readonly #known = new Map<string, Set<number>>();
  readonly #caches: Caches;

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  count(text: string): number {
    return this.#counts.get(text) ?? 0;
  }

  knownLimits(text: string, process: number): Set<number> {
    const name = `${process} ${text}`;
    const known = this.#known.get(name) ?? new Set();
    this.#known.set(name, known);
    return known;
  }

  /** More than one if the local cache may answer and may not. */
  outcomes({ text, hits, isRefund, ownLimit }: Step, process: number): readonly Outcome[] {
    const limit = ownLimit ?? LIMIT;
    const before = this.count(text);
    const after = isRefund ? Math.max(before - hits, 0) : before + hits;
    const told = isRefund || after <= limit ? (['OK', Math.max(limit - after, 0)] as const) : OVER;
    const counted = { told, count: after };
    if (isRefund || !this.knownLimits(text, process).has(limit)) return [counted];
    const rejected = { told: OVER, count: before };
    return this.#caches === 'of one process' ? [rejected] : [rejected, counted];
  }

  took({ text, hits, isRefund, ownLimit }: Step, process: number, { told: [code], count }: Outcome): void {
    this.#counts.set(text, count);
    const known = this.knownLimits(text, process);
    if (isRefund && hits > 0) known.clear();
    if (code === 'OK' || this.#caches === 'none') return;
    // The cache has one entry for each key. Others hear of a refund later, and an entry that is made before that ends again.
    if (this.#caches === 'of one process') known.clear();
    known.add(ownLimit ?? LIMIT);
  }
}

type Caches = 'none' | 'of one process' | 'of several processes';
const OVER = ['OVER_LIMIT', 0] as const;

/**
 * Makes random calls and compares each answer with that of the plain counters.
 * @param settles calls whose effect the other processes see a moment later, which is waited for
 */
async function comparesWithPlainCounters(
  t: Test,
  callers: readonly Caller[],
  load: { seed: number; calls: number; caches: Caches; settles: (step: Step) => boolean },
): Promise<void> {
  t.teardown(() => {
    for (const { front } of callers) front.close();
  });
  const random = new SeededRandom(load.seed);
  const model = new PlainCounters(load.caches);
  for (let call = 0; call < load.calls; call++) {
    const step = randomStep(random);
    const caller = random.pick(callers);
    await makes(t, model, caller, step);
    if (!load.settles(step)) continue;
    for (const each of callers) await seesCount(each, step.text, model.count(step.text));
    if (load.caches !== 'of several processes') continue;
    const others = new Map(callers.map(each => [each.process, each]));
    others.delete(caller.process);
    for (const each of others.values()) await countsAgain(t, model, each, step.text);
  }
}

/** Makes a call, and fails if it is told something else than the plain counters allow. */
async function makes(t: Test, model: PlainCounters, caller: Caller, step: Step): Promise<Outcome> {
  const outcomes = model.outcomes(step, caller.process);
  const told = await ask(caller.front, step);
  const count = outcomes.length === 1 ? outcomes[0].count : await countSeen(caller, step.text);
  const taken =
    outcomes.find(each => each.count === count && String(each.told) === String(told)) ?? outcomes[0];
  t.same({ told, count }, taken, `${JSON.stringify(step)} at process ${caller.process}`);
  model.took(step, caller.process, taken);
  return taken;
}

/** Makes hits until one is counted, because the process has heard of a refund. */
async function countsAgain(t: Test, model: PlainCounters, caller: Caller, text: string): Promise<void> {
  const [limit] = model.knownLimits(text, caller.process);
  if (limit === undefined) return;
  for (const count = model.count(text); model.count(text) === count; )
    await makes(t, model, caller, { text, hits: 1, isRefund: false, ownLimit: limit });
}

/** The count by a call that counts nothing. Its limit is in no local cache. */
async function countSeen({ front }: Caller, text: string): Promise<number> {
  const [, remaining] = await ask(front, { text, hits: 0, isRefund: false, ownLimit: NO_LIMIT });
  return NO_LIMIT - remaining;
}

/** Asks until the process answers by this count. */
function seesCount(caller: Caller, text: string, count: number): Promise<void> {
  return until(async () => (await countSeen(caller, text)) === count);
}

function randomStep(random: SeededRandom): Step {
  return {
    text: `${random.pick(['year', 'month'])}=${random.pick(['a', 'b', 'c'])}`,
    hits: random.below(5),
    isRefund: random.below(3) === 0,
    ownLimit: random.below(6) === 0 ? 1 + random.below(15) : null,
  };
}

async function ask(
  front: FrontClient,
  { text, hits, isRefund, ownLimit }: Step,
): Promise<readonly [string, number]> {
  const limit =
    ownLimit === null ? null : { requestsPerUnit: ownLimit, unit: text.startsWith('year') ? 6 : 5 };
  const answer = await front.ask({
    domain: 'shop',
    descriptors: [descriptor(text, { limit, hitsAddend: hits, isNegativeHits: isRefund })],
    hitsAddend: 0,
  });
  if ('error' in answer) throw new Error(answer.error);
  return [answer.told[0].code, answer.told[0].remaining];
}

/** One caller over gRPC and one over `/json` for each process. */
function callersOf(services: readonly ServiceProcess[]): Caller[] {
  return services.flatMap((service, process) => [
    { front: grpcFront(service.grpc), process },
    { front: jsonFront(service.http), process },
  ]);
}

const lowers = (step: Step): boolean => step.isRefund && step.hits > 0;

async function start(
  t: Test,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      return await serviceFor(t, { rules: RULES, env });
    }),
  );
}

t.test('one process with a local cache: answers are those of a plain counter', async t => {
  const callers = callersOf(await start(t, 1, CACHE));
  await comparesWithPlainCounters(t, callers, {
    seed: 1,
    calls: 300,
    caches: 'of one process',
    settles: () => false,
  });
});

t.test('two processes on one Redis, with local caches: answers are those of a plain counter', async t => {
  const redis = await redisFor(t);
  const callers = callersOf(await start(t, 2, { ...CACHE, REDIS_URL: redis.address }));
  await comparesWithPlainCounters(t, callers, {
    seed: 2,
    calls: 100,
    caches: 'of several processes',
    settles: lowers,
  });
});

t.test('two processes on a cluster, with local caches: answers are those of a plain counter', async t => {
  const cluster = await clusterFor(t);
  const callers = callersOf(
    await start(t, 2, { ...CACHE, REDIS_URL: cluster.address, REDIS_TYPE: 'cluster' }),
  );
  await comparesWithPlainCounters(t, callers, {
    seed: 3,
    calls: 60,
    caches: 'of several processes',
    settles: lowers,
  });
});

t.test('two processes on memcached, which adds later: answers are those of a plain counter', async t => {
  const memcached = await memcachedFor(t);
  const env = { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: memcached.address };
  const callers = callersOf(await start(t, 2, env));
  await comparesWithPlainCounters(t, callers, { seed: 4, calls: 60, caches: 'none', settles: () => true });
});
