// What a batch costs the thread with the connections, decided there or in another thread, on the embedded store.
// Run: node build/bench/part/decision-pool.js

import { engineCounters } from '../../src/app/decision/create-batcher.ts';
import type { DecidingSetup } from '../../src/app/decision/deciding.ts';
import { createDecisionThreads } from '../../src/app/decision/decision-threads.ts';
import { engineOptions } from '../../src/app/decision/engine-settings.ts';
import { ThreadEvents } from '../../src/app/decision/thread-events.ts';
import { StoreHealth } from '../../src/app/stores/store-health.ts';
import { loadStoreFactory } from '../../src/app/stores/stores.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Health } from '../../src/base/health.ts';
import type { Logger } from '../../src/base/logger.ts';
import { OutageLog } from '../../src/base/outage-log.ts';
import { DecisionBatch } from '../../src/decision/batch.ts';
import type { DecisionReply } from '../../src/decision/decider.ts';
import { Engine } from '../../src/decision/engine.ts';
import { BatchFigures } from '../../src/decision/statistics/batch-figures.ts';
import { RuleGeneration, RuleStatistics } from '../../src/decision/statistics/rule-statistics.ts';
import { encodeRateLimitRequest } from '../../src/messages/client-codec.ts';
import { RehearsalPublisher } from '../../src/rehearsal/rehearsal-channel.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../src/rules/parse/load.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';

const BATCHES = 4_000;
const SIZES = [8, 32, 128, 512];
const RULES =
  'domain: bench\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1000000}}]';

const silent: Logger = {
  error: message => console.error(message),
  warning: message => console.error(message),
  info: () => {},
  debug: () => {},
  trace: () => {},
  enabled: () => false,
};

const settings = loadSettings({ WORKER_THREADS: '1' });
const stats = new StatsRegistry();
const statistics = new RuleStatistics();
const rules = loadRuleSet([{ name: 'bench.yaml', content: Buffer.from(RULES) }], { mergeDomains: false });
const generation = new RuleGeneration(new CompiledRules(compileRules(rules)));
const log = new OutageLog({ clock: systemClock, logger: silent });
const storeHealth = new StoreHealth(new Health(), false, log);
const parts = { settings, stats, clock: systemClock, logger: silent, random: Math.random };
const counters = engineCounters(stats);
const createStore = await loadStoreFactory(settings);
const store = createStore({ ...parts, outages: storeHealth });
const spent = { dispatchMs: 0, handOverMs: 0 };
const { fingerprintKey, memory, refundMarks } = store;
const setup: DecidingSetup = {
  settings,
  store: { fingerprintKey, memory, refundMarks },
  decisionLog: null,
  steering: null,
  batchFigures: BatchFigures.create().buffer,
  hotKeys: null,
};
const events = new ThreadEvents(
  { stats, statistics, rehearsal: new RehearsalPublisher() },
  store,
  storeHealth,
  null,
  null,
);
const { threads, pool } = createDecisionThreads(parts, setup, statistics, events, {
  placement: {
    isForPool: () => true,
    decidedHere: () => {},
    decidedInPool: (_requests, dispatchMs, handOverMs) => {
      spent.dispatchMs += dispatchMs;
      spent.handOverMs += handOverMs;
    },
  },
});
const engine = new Engine({
  ...parts,
  options: engineOptions(settings),
  store: store.store,
  overLimit: null,
  counters,
  nowMs: null,
});
const requests = Array.from({ length: 100_000 }, (_, n) =>
  encodeRateLimitRequest({
    domain: 'bench',
    descriptors: [{ entries: [{ key: 'user', value: `user-${n}` }], limit: null, hitsAddend: null }],
    hitsAddend: 0,
  }),
);
const reply: DecisionReply = {
  gone: false,
  answered: () => {},
  refused: fault => {
    throw fault;
  },
};
let next = 0;

function fill(batch: DecisionBatch, size: number): void {
  for (let i = 0; i < size; i++) batch.add(requests[next++ % requests.length], 'protobuf', reply);
}

/** Microseconds of this thread for a batch decided here. */
async function here(size: number): Promise<number> {
  const batch = new DecisionBatch(store.fingerprintKey, statistics);
  let spentMs = 0;
  for (let i = 0; i < BATCHES; i++) {
    fill(batch, size);
    const beganMs = performance.now();
    await engine.run(batch, generation);
    spentMs += performance.now() - beganMs;
    batch.reset();
  }
  return (spentMs * 1_000) / BATCHES;
}

/** Microseconds of this thread for a batch decided in another, and from its leaving to its answers. */
async function there(size: number): Promise<{ dispatch: number; handOver: number; around: number }> {
  const batch = new DecisionBatch(store.fingerprintKey, statistics);
  spent.dispatchMs = 0;
  spent.handOverMs = 0;
  let aroundMs = 0;
  for (let i = 0; i < BATCHES; i++) {
    fill(batch, size);
    const beganMs = performance.now();
    await pool.run(batch, generation);
    aroundMs += performance.now() - beganMs;
    batch.reset();
  }
  const perBatch = (ms: number): number => (ms * 1_000) / BATCHES;
  return {
    dispatch: perBatch(spent.dispatchMs),
    handOver: perBatch(spent.handOverMs),
    around: perBatch(aroundMs),
  };
}

statistics.publish(generation);
await store.start();
await threads.start();
await threads.whenReady(1);
console.log('µs per batch        here   there: dispatch + hand over   there and back');
for (const size of SIZES) {
  await here(size);
  await there(size);
  const inline = await here(size);
  const { dispatch, handOver, around } = await there(size);
  const cells = [inline, dispatch, handOver, around].map(value => value.toFixed(1).padStart(8));
  console.log(
    `${String(size).padStart(4)} requests ${cells[0]}         ${cells[1]} + ${cells[2]}        ${cells[3]}`,
  );
}
await threads.stop();
await store.stop();
