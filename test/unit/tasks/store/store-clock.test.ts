import t, { type Test } from 'tap';
import { StoreClock } from '../../../../src/tasks/store/store-clock.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';

const HOUR = 3_600_000;

async function open(t: Test, { aheadMs = 0, answersAfterMs = 0 } = {}) {
  const host = new JumpingClock(10 * HOUR);
  const server = { aheadMs, isDown: false };
  const store = {
    async now() {
      if (server.isDown) throw new Error('unavailable');
      const now = host.monotonicMs() + server.aheadMs;
      host.advance(answersAfterMs);
      return now;
    },
  };
  const clock = new StoreClock(store, host, () => host.monotonicMs());
  await clock.start();
  await new Promise(resolve => setImmediate(resolve));
  t.teardown(() => clock.stop());
  /** Time passes, and what is asked is answered. */
  const pass = async (ms: number) => {
    host.advance(ms);
    await new Promise(resolve => setImmediate(resolve));
  };
  return { host, server, clock, pass };
}

for (const aheadMs of [HOUR, -HOUR]) {
  t.test(`the store is ${aheadMs / HOUR} h ahead of this host: the time is that of the store`, async t => {
    const { clock, pass } = await open(t, { aheadMs });
    t.equal(clock.nowMs(), 10 * HOUR + aheadMs);
    await pass(500);
    t.equal(clock.nowMs(), 10 * HOUR + aheadMs + 500);
  });

  t.test(
    `the clock of this host is set by ${aheadMs / HOUR} h: the time stays that of the store`,
    async t => {
      const { host, clock } = await open(t);
      host.jump(aheadMs);
      t.equal(clock.nowMs(), 10 * HOUR);
    },
  );

  t.test(`the clock of the store is set by ${aheadMs / HOUR} h: it is followed within a second`, async t => {
    const { server, clock, pass } = await open(t);
    server.aheadMs = aheadMs;
    await pass(1_000);
    t.equal(clock.nowMs(), 10 * HOUR + 1_000 + aheadMs);
  });
}

t.test('while the store is unavailable time goes on, and it is asked again', async t => {
  const { server, clock, pass } = await open(t);
  server.isDown = true;
  await pass(1_000);
  await pass(1_000);
  t.equal(clock.nowMs(), 10 * HOUR + 2_000);
  server.isDown = false;
  server.aheadMs = 5_000;
  await pass(1_000);
  t.equal(clock.nowMs(), 10 * HOUR + 8_000);
});

t.test('a slow answer does not make the time wrong by more than it took', async t => {
  const { clock, host } = await open(t, { answersAfterMs: 300 });
  t.equal(clock.nowMs(), host.monotonicMs());
});

t.test('once it is stopped the store is not asked any more', async t => {
  const { host, clock } = await open(t);
  await clock.stop();
  t.equal(host.pending, 0);
});
