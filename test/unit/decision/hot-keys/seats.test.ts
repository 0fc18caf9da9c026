import t from 'tap';
import { Seats } from '../../../../src/decision/hot-keys/seats.ts';
import { request } from '../../../support/decisions.ts';
import { WatchedDecisions } from '../../../support/hot-keys.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;
const NOW_MS = 1_700_000_000_000;

function watchedOn(seats: Seats): WatchedDecisions {
  return new WatchedDecisions({ store: embeddedStore(64), rules: RULES }, seats);
}

t.test('what several threads recorded in the same memory is added up', async t => {
  const { buffers } = Seats.create(2);
  // Each thread has objects of its own on the shared memory.
  const threads = [watchedOn(new Seats(buffers)), watchedOn(new Seats(buffers))];
  const [first, second] = threads;
  const other = first.seats.lock(0, NOW_MS)!;
  for (let i = 0; i < 3; i++) await second.decisions.ask(request('d', 'user=ann'));
  other.unlock();
  for (let i = 0; i < 4; i++) await first.decisions.ask(request('d', 'user=ann'));
  await first.decisions.ask(request('d', 'user=bob'));
  t.match(first.hotKeys.top(0, 'minute', 9).keys, [
    { key: 'user=ann', hits: 7, refused: 3, error: 0 },
    { key: 'user=bob', hits: 1, error: 0 },
  ]);
  t.equal(second.refusals.recent(9).length, 3);
});

t.test('while other threads have all seats, decisions go on without being recorded', async t => {
  const watched = watchedOn(Seats.create(1));
  const seat = watched.seats.lock(0, NOW_MS);
  t.match(await watched.decisions.ask(request('d', 'user=ann')), { overallCode: 1 });
  seat?.unlock();
  t.same(watched.hotKeys.top(0, 'minute', 9).keys, []);
});

t.test('the seat of a thread that died while it recorded is used again after ten seconds', async t => {
  const seats = Seats.create(1);
  t.not(seats.lock(0, NOW_MS), null);
  t.equal(seats.lock(1, NOW_MS + 10_000), null);
  t.not(seats.lock(1, NOW_MS + 11_000), null);
});
