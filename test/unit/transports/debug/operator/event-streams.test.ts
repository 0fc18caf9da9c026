import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Refusal } from '../../../../../src/decision/hot-keys/refusal-table.ts';
import { EventStreams, MAX_STREAMS } from '../../../../../src/transports/debug/operator/event-streams.ts';
import type { OperatorRoute } from '../../../../../src/transports/debug/operator/route.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { readEvents } from '../../../../support/server-events.ts';
import { until } from '../../../../support/until.ts';
import { onEachEngine } from '../../http/on-each-engine.ts';
import { startedDebugServer } from '../debugging.ts';

const NOW_MS = 1_700_000_000_000;

function refusal(timeMs: number, key: string): Refusal {
  const rest = {
    held: null,
    count: 2,
    requestsPerUnit: 1,
    most: 1,
    isShadow: false,
    isPenalized: false,
    isBanned: false,
    peer: null,
    traceId: null,
  };
  return { timeMs, path: 'shop.user', key, domain: 'shop', entries: null, hits: 1, ...rest };
}

async function site(t: Test, status: () => Promise<unknown> = async () => ({ healthy: true })) {
  const clock = new ManualClock(NOW_MS);
  const log = new KeepingLogger();
  const refusals: Refusal[] = [];
  const since = (timeMs: number, count: number) =>
    refusals.filter(refusal => refusal.timeMs >= timeMs).slice(0, count);
  const streams = new EventStreams({ status, refusals: since, clock, log });
  const route: OperatorRoute = {
    method: 'GET',
    path: '/events',
    operation: 'streamEvents',
    summary: 'Receive events',
    access: 'read',
    answer: { description: 'Events.', schema: { type: 'object', properties: {} } },
    stream: exchange => streams.open(exchange),
    stop: () => streams.stop(),
  };
  const operator = operatorApi({ routes: [route], clock, log });
  const server = await startedDebugServer(t, clock, { operator });
  return { clock, log, refusals, server, address: `127.0.0.1:${server.port}` };
}

onEachEngine('a reader gets the status at once and every second, and the rejections since then', async t => {
  const { clock, refusals, address } = await site(t);
  refusals.push(refusal(NOW_MS - 1, 'user=before'));
  const reader = await readEvents(address);
  t.match(reader.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  t.same(await reader.event(({ name }) => name === 'status'), { name: 'status', data: { healthy: true } });
  for (let i = 1; i <= 25; i++) refusals.unshift(refusal(NOW_MS + i, `user=${i}`));
  clock.advance(1_000);
  const { data } = await reader.event(({ name }) => name === 'rejections');
  t.equal(data.refusals.length, 20);
  t.match(data, { refusals: [{ key: 'user=25', path: 'shop.user', count: 2 }], left_out: 5 });
  clock.advance(1_000);
  await until(() => reader.events.filter(({ name }) => name === 'status').length === 3);
  t.equal(reader.events.filter(({ name }) => name === 'rejections').length, 1, 'each one is sent once');
  refusals.unshift(refusal(NOW_MS + 25, 'user=late'));
  clock.advance(1_000);
  const late = await reader.event(
    ({ name, data: { refusals: sent } }) => name === 'rejections' && sent[0].key === 'user=late',
  );
  t.equal(late.data.refusals.length, 1, 'also one of the same millisecond that was recorded later');
  reader.close();
});

onEachEngine('without readers, nothing is made', async t => {
  let made = 0;
  const { clock, address } = await site(t, async () => ({ made: ++made }));
  t.equal(clock.pending, 0);
  const reader = await readEvents(address);
  await reader.event(() => true);
  reader.close();
  await until(async () => {
    const before = made;
    clock.advance(1_000);
    await nextTurn();
    return made === before && clock.pending === 0;
  });
});

onEachEngine('one reader too many is told to come back, and HEAD opens no stream', async t => {
  const { address } = await site(t);
  const head = await fetch(`http://${address}/api/v1/events`, { method: 'HEAD' });
  t.match(head, { status: 200 });
  const readers = await Promise.all(Array.from({ length: MAX_STREAMS }, () => readEvents(address)));
  const refused = await fetch(`http://${address}/api/v1/events`);
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '5');
  t.match(await refused.json(), { code: 'overloaded', detail: /32 clients already receive events/ });
  for (const reader of readers) reader.close();
});

onEachEngine('a reader that takes nothing is disconnected, and does not hold up others', async t => {
  const large = 'x'.repeat(1_000_000);
  const { clock, address } = await site(t, async () => ({ large }));
  const slow = await readEvents(address);
  slow.pause();
  const quick = await readEvents(address);
  for (let i = 0; i < 12; i++) {
    const count = quick.events.length;
    clock.advance(1_000);
    await until(() => quick.events.length > count);
  }
  slow.resume();
  await slow.ended;
  t.ok(slow.events.length < 8, 'the server has kept only what it had sent');
  quick.close();
});

onEachEngine('a status that cannot be made is logged, and the stream goes on', async t => {
  let attempts = 0;
  const { clock, log, address } = await site(t, async () => {
    if (++attempts === 1) throw new Error('not yet');
    return { attempts };
  });
  const reader = await readEvents(address);
  await until(() => clock.pending === 1);
  clock.advance(1_000);
  t.match(await reader.event(({ name }) => name === 'status'), { data: { attempts: 2 } });
  t.match(log.lines, [{ message: /^Could not make the events/, fields: { error: 'not yet' } }]);
  reader.close();
});

onEachEngine('streams end when the port closes', async t => {
  const { server, address, clock } = await site(t);
  const reader = await readEvents(address);
  await reader.event(() => true);
  await server.stop();
  await reader.ended;
  t.equal(clock.pending, 0);
});

t.test('pages of other web sites get no events', async t => {
  const { address } = await site(t);
  const answer = await fetch(`http://${address}/api/v1/events`, {
    headers: { Origin: 'https://example.com', 'Sec-Fetch-Site': 'cross-site' },
  });
  t.equal(answer.status, 403);
});
