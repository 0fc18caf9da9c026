import t from 'tap';
import { type Phase, type Second, verdict } from '../../../bench/soak/decisions/verdict.ts';

const CLIENTS = 200;

/** Seconds of a phase; garbage is collected in every other one. */
function phase(
  name: Phase,
  count: number,
  mb: (i: number) => { rss: number; heap: number; external?: number },
) {
  return Array.from({ length: count }, (_, i): Second => {
    const { rss, heap, external = 3 } = mb(i);
    return {
      at: i,
      phase: name,
      requestsPerSecond: 100_000,
      p99Ms: 3,
      rssBytes: rss * 1e6,
      heap: i % 2 === 0 ? null : { heapBytes: heap * 1e6, externalBytes: external * 1e6 },
    };
  });
}

const WARM_UP = phase('warm-up', 10, i => ({ rss: 80 + 6 * i, heap: 10 }));
const LOAD = phase('load', 30, i => ({ rss: 140 + (i % 3), heap: 12 + (i % 4) / 10 }));
const SILENT = phase('silent clients', 10, i => ({ rss: 140 + 8 * i, heap: 14, external: 3 + 5 * i }));
const AFTER = phase('after', 4, () => ({ rss: 200, heap: 12.2, external: 3.2 }));

t.test('memory that is taken in the warm-up, varies, or is given back is no fault', async t => {
  t.same(verdict([...WARM_UP, ...LOAD, ...SILENT, ...AFTER], CLIENTS), []);
});

t.test('memory that grows steadily under load is a fault, each kind with its figures', async t => {
  const growing = phase('load', 30, i => ({ rss: 140 + 2 * i, heap: 12 + i / 5, external: 3 + i / 10 }));
  t.same(verdict([...growing, ...SILENT], CLIENTS), [
    'under load the heap has grown from 13.0 to 17.0 MB',
    'under load memory outside of the heap has grown from 3.5 to 5.5 MB',
    'under load RSS has grown from 149.0 to 189.0 MB',
  ]);
});

t.test('clients that do not read may take two megabytes each, and no more', async t => {
  const greedy = phase('silent clients', 10, i => ({ rss: 140 + 60 * i, heap: 14 }));
  t.same(verdict([...LOAD, ...greedy, ...AFTER], CLIENTS), [
    '200 clients that do not read have raised RSS from 141.0 to 680.0 MB',
  ]);
});

t.test('what is held for clients that have left is a fault', async t => {
  const held = phase('after', 4, () => ({ rss: 200, heap: 12, external: 30 }));
  t.same(verdict([...LOAD, ...SILENT, ...held], CLIENTS), [
    'after the clients that did not read memory outside of the heap is 30.0 MB, before them 3.0 MB',
  ]);
});
