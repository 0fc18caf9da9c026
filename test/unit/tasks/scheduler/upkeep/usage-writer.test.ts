import t from 'tap';
import { Fault, type FaultCode } from '../../../../../src/base/fault.ts';
import { UsageSum, usageStart } from '../../../../../src/tasks/model/usage.ts';
import { UsageWriter, WRITE_USAGE_EVERY_MS } from '../../../../../src/tasks/scheduler/upkeep/usage-writer.ts';
import type { UsageIncrement } from '../../../../../src/tasks/store/usage.ts';
import { UsageCounts } from '../../../../../src/tasks/store/usage-counts.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { ACME, EngineScene, OK } from '../../../../support/tasks/engine-scene.ts';

t.test('several processes add to the same usage, also when they stop', async t => {
  const scene = await EngineScene.open();
  const processes = [await scene.process(t), await scene.process(t)];
  const worker = await scene.worker();
  const from = usageStart('hour', scene.clock.nowMs());
  const usage = async (workerId: string | null) => {
    const found = await scene.store.usage(ACME, { span: 'hour', workerId, from, intervals: 1 });
    const sum = new UsageSum();
    for (const { figures } of found) sum.addAll(figures);
    return { started: sum.count('started'), succeeded: sum.count('succeeded') };
  };
  for (const process of processes) {
    process.deliveries.reply = () => OK;
    await scene.add(worker, 3, {}, { heardBy: process });
    await scene.pass(100);
  }
  t.same(await usage(null), { started: 0, succeeded: 0 }, 'no operation for each task');
  await scene.pass(WRITE_USAGE_EVERY_MS, 1_000);
  t.same(await usage(null), { started: 6, succeeded: 6 });
  t.same(await usage(worker.id), { started: 6, succeeded: 6 });
  await scene.add(worker, 1, {}, { heardBy: processes[0] });
  await scene.pass(100);
  await processes[0].engine.stop();
  t.same(await usage(null), { started: 7, succeeded: 7 });
});

t.test('what an overloaded store has not taken is written later, and nothing is written twice', async t => {
  const clock = new ManualClock(Date.UTC(2026, 2, 1, 10));
  const usage = new UsageCounts();
  const faults: (FaultCode | null)[] = ['overloaded', 'store_failed'];
  const written: (readonly UsageIncrement[])[] = [];
  const store = {
    addUsage: async (_tenant: string, increments: readonly UsageIncrement[]) => {
      const code = faults.shift() ?? null;
      if (code !== null) throw new Fault(code, 'the store is away');
      written.push(increments);
    },
  };
  const logger = new KeepingLogger();
  const writer = new UsageWriter({ store, clock, logger }, usage);
  await writer.start();
  const task = { workerId: 'wrk_1', updatedAt: clock.nowMs() };
  const round = async () => {
    clock.advance(WRITE_USAGE_EVERY_MS);
    await new Promise(resolve => setImmediate(resolve));
  };
  usage.count(ACME, task, 'created');
  await round();
  await round();
  t.same([faults, written], [[], []], 'an operation that may have been done is not repeated');
  usage.count(ACME, task, 'created');
  faults.push('overloaded');
  await round();
  await writer.stop();
  t.match(written, [[{ workerId: null, figures: [0, 1] }, { workerId: 'wrk_1' }]]);
});
