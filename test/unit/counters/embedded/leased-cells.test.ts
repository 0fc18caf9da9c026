import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { LeaseScene } from '../../../exam/counter-leases/scene.ts';
import { NOON } from '../../../support/counting.ts';
import { callsFor, concurrent, reserving } from '../../../support/leases.ts';
import type { LeasingJob, LeasingReport } from './leasing-thread.ts';

const NOON_MS = NOON.nowS * 1_000;

t.test('threads hold no more together than there is, and lose nothing', async t => {
  const { buffer } = CounterTable.create(4_096);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = ['a', 'b', 'c', 'd'].map(name => {
    const job: LeasingJob = { buffer, rounds: 1_000, name };
    return new Worker(new URL(`./leasing-thread.${extension}`, import.meta.url), { workerData: job });
  });
  const reports = await Promise.all(
    threads.map(async thread => (await once(thread, 'message'))[0] as LeasingReport),
  );
  t.ok(reports.every(({ mostSlots, mostHeld }) => mostSlots <= 2 && mostHeld <= 20));
  const spent = reports.reduce((sum, report) => sum + report.spent, 0);
  t.ok(spent > 300, `${spent} hits were spent`);
  const scene = new LeaseScene(new EmbeddedCounterStore(CounterTable.attach(buffer)), NOON_MS);
  t.match(await scene.look(callsFor('tokens', reserving(1_000_000))('x').op(0)), { level: spent, held: 0 });
  t.match(await scene.look(callsFor('slots', concurrent(2))('x').op(0)), { level: 0, held: 0, endsMs: 0 });
});

t.test('a table that is full of leases refuses more, and has room when some end', async t => {
  const table = CounterTable.create(1_024);
  const scene = new LeaseScene(new EmbeddedCounterStore(table), NOON_MS);
  const slots = callsFor('slots', concurrent(1_000_000, { forS: 10 }));
  const tokens = callsFor('tokens', reserving(100));
  const others = callsFor('others', concurrent(1_000_000, { forS: 10 }));
  const fill = async (calls: typeof slots) => {
    let taken = 0;
    for (let first = 0; first < 10_000; first += 1_000) {
      const ops = Array.from({ length: 1_000 }, (_, i) => calls(`${first + i}`).op(1));
      taken += (await scene.each(...ops)).filter(({ refused }) => !refused).length;
    }
    return taken;
  };
  const held = await fill(slots);
  t.equal(held, (table.leases.size * 3) / 4, 'one key does not take them all');
  t.equal(await fill(others), table.leases.size / 4);
  t.match(await scene.look(slots('x').op(0)), { level: held, held });
  const both = [tokens('a').op(5), slots('a').op(1)];
  t.match(await scene.together(...both), [
    { refused: true, after: 0 },
    { refused: true, after: held },
  ]);
  t.match(
    await scene.each(tokens('').op(5)),
    [{ step: 'spend', after: 5 }],
    'what needs no lease is counted',
  );
  await scene.each(slots('0').refund(1));
  const refused = await scene.together(...both);
  t.match(
    refused,
    [
      { after: 5, held: 0 },
      { after: held - 1, held: 0 },
    ],
    'room for one lease is not enough',
  );
  await scene.each(slots('1').refund(1));
  t.match(await scene.together(...both), [
    { refused: false, after: 10 },
    { refused: false, after: held - 1 },
  ]);
  scene.wait(10_000);
  t.match(
    await scene.each(tokens('b').op(5)),
    [{ refused: false, after: 15 }],
    'those of other keys make room',
  );
});

t.test('leases that are only remembered make room for those that hold hits', async t => {
  const table = CounterTable.create(1_024);
  const scene = new LeaseScene(new EmbeddedCounterStore(table), NOON_MS);
  const tokens = callsFor('tokens', reserving(1_000_000));
  const { size } = table.leases;
  for (let first = 0; first < 2 * size; first += 1_000) {
    const names = Array.from({ length: 1_000 }, (_, i) => `${first + i}`);
    await scene.each(...names.map(name => tokens(name).op(5)), ...names.map(name => tokens(name).op(3)));
  }
  t.match(await scene.look(tokens('x').op(0)), { level: 3 * 1_000 * Math.ceil((2 * size) / 1_000), held: 0 });
  const other = callsFor('other', reserving(100));
  t.match(await scene.each(other('a').op(5)), [{ refused: false, after: 5 }]);
});

t.test('very many leases of a key end in several calls, or in one if their hits are needed', async t => {
  const table = CounterTable.create(262_144);
  const scene = new LeaseScene(new EmbeddedCounterStore(table), NOON_MS);
  const slots = callsFor('slots', concurrent(10_000, { forS: 10 }));
  for (let first = 0; first < 10_000; first += 1_000)
    await scene.each(...Array.from({ length: 1_000 }, (_, i) => slots(`${first + i}`).op(1)));
  scene.wait(10_000);
  t.match(await scene.each(slots('a').op(1)), [{ refused: false, after: 10_000 - 4_096 + 1 }]);
  t.match(await scene.each(slots('b').op(10_000)), [{ refused: true, after: 1 }]);
});
