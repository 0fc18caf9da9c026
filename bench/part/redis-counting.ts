// What counting a batch in Redis costs this process and Redis, by the ways of asking. Needs `redis-server` on the PATH.
// Run: node bench/part/redis-counting.ts [keys a batch, 300]
import type { AdmissionTerms } from '../../src/counters/admission/admission.ts';
import { CounterBatch } from '../../src/counters/batch.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { slidingWindow, tokenBucket } from '../../test/support/admission.ts';
import { fill } from '../../test/support/counting.ts';
import { type RedisServer, startRedis } from '../../test/support/redis-server.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { PLAIN_USER, redisStore, TEST_FINGERPRINT_KEY, WITHOUT_SCRIPTS } from '../../test/support/stores.ts';

const KEYS = 100_000;
const KEYS_A_BATCH = Number(process.argv[2] ?? 300);
const BATCHES = Math.ceil(120_000 / KEYS_A_BATCH);
const IN_FLIGHT = 4;
const ROUNDS = 5;
const HOUR = 3;

/** Late in an hour no counter of a shorter window can have the key; early in it, that is looked at. */
const TIMES = { late: 1_700_002_000, early: 1_699_999_300 };

interface Way {
  readonly name: string;
  readonly auth: string;
  readonly nowS: number;
  /** The terms of the limit; absent for a plain counter. */
  readonly terms?: AdmissionTerms;
}

const WAYS: readonly Way[] = [
  { name: 'script, keys of one window', auth: '', nowS: TIMES.late },
  { name: 'script, keys that may be shared', auth: '', nowS: TIMES.early },
  { name: 'single commands, as in a cluster', auth: PLAIN_USER, nowS: TIMES.late },
  { name: 'script, token buckets', auth: '', nowS: TIMES.late, terms: tokenBucket(36_000, 3_600) },
  { name: 'script, buckets with fractions', auth: '', nowS: TIMES.late, terms: tokenBucket(70_001, 3_600) },
  { name: 'script, sliding windows', auth: '', nowS: TIMES.late, terms: slidingWindow(36_000, 3_600) },
];

function batches({ nowS, terms }: Way): CounterBatch[] {
  const tag = terms === undefined ? nowS : `~${terms.admission}.${terms.drain}`;
  const random = new SeededRandom(1);
  return Array.from({ length: 32 }, () => {
    const ops = Array.from({ length: KEYS_A_BATCH }, () => ({
      key: `bench_user_user-${random.below(KEYS)}_${tag}`,
      hits: 1,
      unit: HOUR,
      ...(terms === undefined ? null : { terms }),
    }));
    const batch = new CounterBatch(TEST_FINGERPRINT_KEY);
    fill(batch, [{ ops }], { nowS, ttlS: 3_900, expiryS: 1_700_002_800 });
    return batch;
  });
}

/** Microseconds of processor time a key: of this process, and of Redis. */
async function measure(
  redis: RedisServer,
  store: CounterStore,
  prepared: readonly CounterBatch[],
): Promise<{ client: number; server: number }> {
  const ofRedis = async () => {
    const info = String(await redis.command('INFO', 'cpu'));
    const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([0-9.]+)/gm)].map(([, text]) => Number(text));
    return (seconds[0] + seconds[1]) * 1e6;
  };
  const before = await ofRedis();
  const usage = process.cpuUsage();
  let next = 0;
  const run = async (first: number) => {
    // A batch is in flight once at a time.
    for (let at = first; next++ < BATCHES; at += IN_FLIGHT)
      await store.increment(prepared[at % prepared.length]);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, first) => run(first)));
  const { user, system } = process.cpuUsage(usage);
  const keys = BATCHES * KEYS_A_BATCH;
  return { client: (user + system) / keys, server: ((await ofRedis()) - before) / keys };
}

function median(values: readonly number[]): string {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)].toFixed(2);
}

const redis = await startRedis({ args: WITHOUT_SCRIPTS });
try {
  for (const way of WAYS) {
    const { name, auth } = way;
    const store = redisStore({ socketType: 'tcp', url: redis.address, auth }, { jitterS: 300 });
    await store.start();
    const prepared = batches(way);
    await measure(redis, store, prepared);
    const rounds: { client: number; server: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(redis, store, prepared));
    const client = median(rounds.map(each => each.client));
    const server = median(rounds.map(each => each.server));
    console.log(`${name.padEnd(36)} ${client} µs a key here, ${server} µs in Redis`);
    await store.stop();
  }
} finally {
  await redis.stop();
}
