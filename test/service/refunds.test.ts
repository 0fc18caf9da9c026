import t, { type Test } from 'tap';
import { descriptor } from '../support/decisions.ts';
import { type FrontClient, grpcFront, jsonFront } from '../support/exactness/fronts.ts';
import { ruleSettings } from '../support/exactness/setup.ts';
import { startMemcached } from '../support/memcached-server.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { type ServiceProcess, startService } from '../support/service.ts';

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

/** Higher than any count: a call with this limit is told the count, unless the local cache answers it. */
const NO_LIMIT = 1_000_000;

/** A plain counter for each descriptor: what every answer must be. */
class PlainCounters {
  readonly #counts = new Map<string, number>();
  /** By process, the limit that it knows the key to exceed: it answers hits against this limit without counting them. */
  readonly #known = new Map<string, Map<number, number>>();

  answer({ text, hits, isRefund, ownLimit }: Step, process: number, caches: boolean): [string, number] {
    const limit = ownLimit ?? LIMIT;
    const before = this.#counts.get(text) ?? 0;
    const known = this.#known.get(text) ?? new Map<number, number>();
    this.#known.set(text, known);
    if (isRefund && hits > 0) known.clear();
    if (!isRefund && known.get(process) === limit) return ['OVER_LIMIT', 0];
    const after = isRefund ? Math.max(before - hits, 0) : before + hits;
    this.#counts.set(text, after);
    if (isRefund || after <= limit) return ['OK', Math.max(limit - after, 0)];
    if (caches) known.set(process, limit);
    return ['OVER_LIMIT', 0];
  }

  count(text: string): number {
    return this.#counts.get(text) ?? 0;
  }
}

/**
 * Makes random calls and compares each answer with that of the plain counters.
 * @param settles calls whose effect the other processes see a moment later, which is waited for
 */
async function comparesWithPlainCounters(
  t: Test,
  callers: readonly Caller[],
  load: { seed: number; calls: number; caches: boolean; settles: (step: Step) => boolean },
): Promise<void> {
  t.teardown(() => {
    for (const { front } of callers) front.close();
  });
  const random = new SeededRandom(load.seed);
  const model = new PlainCounters();
  for (let call = 0; call < load.calls; call++) {
    const step = randomStep(random);
    const { front, process } = random.pick(callers);
    const expected = model.answer(step, process, load.caches);
    t.same(await ask(front, step), expected, `call ${call}: ${JSON.stringify(step)} at process ${process}`);
    if (load.settles(step))
      for (const each of callers) await seesCount(each, step.text, model.count(step.text));
  }
}

/** Asks without counting until the process answers by this count. Each look takes as long as a call. */
async function seesCount({ front }: Caller, text: string, count: number): Promise<void> {
  const look: Step = { text, hits: 0, isRefund: false, ownLimit: NO_LIMIT };
  for (;;) {
    const [code, remaining] = await ask(front, look);
    if (code === 'OK' && remaining === NO_LIMIT - count) return;
  }
}

function randomStep(random: SeededRandom): Step {
  return {
    text: `${random.pick(['year', 'month'])}=${random.pick(['a', 'b', 'c'])}`,
    hits: random.below(5),
    isRefund: random.below(3) === 0,
    ownLimit: random.below(6) === 0 ? 1 + random.below(15) : null,
  };
}

async function ask(front: FrontClient, { text, hits, isRefund, ownLimit }: Step): Promise<[string, number]> {
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
      const service = await startService({ env: { ...ruleSettings(t, RULES), ...env } });
      t.teardown(() => service.terminate());
      return service;
    }),
  );
}

t.test(
  'one process on the embedded store, with a local cache: answers are those of a plain counter',
  async t => {
    const callers = callersOf(await start(t, 1, CACHE));
    await comparesWithPlainCounters(t, callers, { seed: 1, calls: 300, caches: true, settles: () => false });
  },
);

t.test('two processes on one Redis, with local caches: answers are those of a plain counter', async t => {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const callers = callersOf(await start(t, 2, { ...CACHE, REDIS_URL: redis.address }));
  await comparesWithPlainCounters(t, callers, { seed: 2, calls: 300, caches: true, settles: lowers });
});

t.test(
  'two processes on a Redis cluster, with local caches: answers are those of a plain counter',
  async t => {
    const cluster = await startCluster();
    t.teardown(() => cluster.stop());
    const callers = callersOf(
      await start(t, 2, { ...CACHE, REDIS_URL: cluster.address, REDIS_TYPE: 'cluster' }),
    );
    await comparesWithPlainCounters(t, callers, { seed: 3, calls: 300, caches: true, settles: lowers });
  },
);

t.test(
  'two processes on memcached, which adds a moment later: answers are those of a plain counter',
  async t => {
    const memcached = await startMemcached();
    t.teardown(() => memcached.stop());
    const env = { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: memcached.address };
    const callers = callersOf(await start(t, 2, env));
    await comparesWithPlainCounters(t, callers, { seed: 4, calls: 200, caches: false, settles: () => true });
  },
);
