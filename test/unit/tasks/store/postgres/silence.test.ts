import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { noPgBouncer, pgBouncerFor } from '../../../../support/pgbouncer.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';
import { untilDone } from '../../../../support/until.ts';

// Servers that accept a connection and then say nothing, as a pooler does in front of a server that is frozen.

/** The message of the server after which it takes the next statement. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

const TIMEOUT_MS = 300;

/** The delays of the store do not keep a process running. */
function keepRunning(t: Test): void {
  const running = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(running));
}

function hostsOf(ports: readonly number[]) {
  return ports.map(port => ({ host: '127.0.0.1', port }));
}

/** The port of a proxy that passes on this number of answers, of which the login is the first, and then nothing. */
async function silentAfter(t: Test, answers: number, server: PostgresServer): Promise<number> {
  const proxy = createServer(caller => {
    let left = answers;
    const inner = connect(server.port, '127.0.0.1');
    const pair = [caller, inner];
    t.teardown(() => caller.destroy());
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const each of pair) each.destroy();
      });
    }
    caller.on('data', data => {
      if (left > 0) inner.write(data);
    });
    inner.on('data', data => {
      caller.write(data);
      if (data.includes(READY)) left--;
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  return (proxy.address() as AddressInfo).port;
}

t.test('a frozen server behind a pooler is left for the next host', { skip: noPgBouncer }, async t => {
  keepRunning(t);
  const frozen = await postgresFor(t);
  const pooler = await pgBouncerFor(t, frozen);
  const other = await postgresFor(t);
  await withWorker(t, postgresTaskStore(other), systemClock);
  const hosts = hostsOf([pooler.port, other.port]);
  const options = { hosts, timeoutMs: TIMEOUT_MS };
  const { store, add } = await withWorker(t, postgresTaskStore(frozen, options), systemClock);
  frozen.freeze();
  t.teardown(() => frozen.thaw());
  await untilDone(() => store.counts('acme', null));
  t.match(await add(), /^tsk_/);
});

const STAGES: readonly (readonly [answers: number, what: string])[] = [
  [1, 'the login'],
  [2, 'it has said that it accepts writes'],
  [3, 'it has said which version it is'],
];

for (const [answers, what] of STAGES) {
  t.test(`a start ends in time if the server falls silent after ${what}`, { skip: noPostgres }, async t => {
    keepRunning(t);
    const server = await postgresFor(t);
    const hosts = hostsOf([await silentAfter(t, answers, server)]);
    const store = postgresTaskStore(server, { hosts, timeoutMs: TIMEOUT_MS, startMs: 1_000 });
    t.teardown(() => store.stop());
    await t.rejects(store.start(), {
      message: /^PostgreSQL at 127\.0\.0\.1:\d+ was not ready within 1000 ms: no answer within 300 ms/,
    });
  });
}

t.test('a start uses the next host if one falls silent after the login', { skip: noPostgres }, async t => {
  keepRunning(t);
  const server = await postgresFor(t);
  const hosts = hostsOf([await silentAfter(t, 1, server), server.port]);
  const { add } = await withWorker(
    t,
    postgresTaskStore(server, { hosts, timeoutMs: TIMEOUT_MS }),
    systemClock,
  );
  t.match(await add(), /^tsk_/);
});
