import t, { type Test } from 'tap';
import { type Answer, answeringServer, reply } from '../../../support/answering-server.ts';
import { count } from '../../../support/counting.ts';
import { freePort } from '../../../support/free-port.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { type RedisStoreOptions, redisStore } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

/** Of hash slot 15495, which is in the last quarter. */
const ONE = [{ key: 'a', hits: 1 }];

/** A range of hash slots and its node. */
type Range = readonly [first: number, last: number, address: string];

/** What a node answers to `CLUSTER SLOTS`. */
function slots(...ranges: readonly Range[]): string {
  return reply(
    ranges.map(([first, last, address]) => {
      const [host, port] = address.split(':');
      return [first, last, [host, Number(port), 'id']];
    }),
  );
}

/** A node of a cluster that greets as Redis does, knows who has which slots, and answers the rest as the test says. */
function startNode(t: Test, map: () => string, answer: Answer): Promise<string> {
  return answeringServer(t, (command, words) => {
    if (command === 'PING') return '+PONG\r\n';
    return command === 'CLUSTER' ? map() : answer(command, words);
  });
}

async function openStore(t: Test, url: string, options: RedisStoreOptions = {}) {
  const store = redisStore({ type: 'cluster', socketType: 'tcp', url, auth: '' }, options);
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

t.test('a node that missed a failover does not hide it: the others are asked in turn', async t => {
  const gone = `127.0.0.1:${await freePort()}`;
  const nodes: string[] = [];
  const cutOff = () => slots([0, 8_191, nodes[0]], [8_192, 12_287, nodes[1]], [12_288, 16_383, gone]);
  const informed = () => slots([0, 8_191, nodes[0]], [8_192, 16_383, nodes[1]]);
  nodes.push(await startNode(t, cutOff, () => ':1\r\n'));
  nodes.push(await startNode(t, informed, () => ':7\r\n'));
  const store = await openStore(t, nodes[0]);
  await t.rejects(count(store, ONE), { code: 'store_failed', message: new RegExp(gone) });
  t.same(await untilCounted(store, ONE), [7]);
});

t.test('a node that no map names yet is kept while a batch is with it', async t => {
  let maps = 0;
  const answered = Promise.withResolvers<string>();
  const asked: string[] = [];
  const importing = await startNode(
    t,
    () => slots([0, 16_383, first]),
    command => {
      asked.push(command);
      if (command === 'ASKING') return '+OK\r\n';
      return command === 'INCRBY' ? ':5\r\n' : answered.promise;
    },
  );
  const first: string = await startNode(
    t,
    () => {
      maps++;
      return slots([0, 16_383, first]);
    },
    () => `-ASK 15495 ${importing}\r\n`,
  );
  const clock = new ManualClock(1_700_000_000_000);
  const store = await openStore(t, first, { clock });
  const counting = count(store, ONE);
  await until(() => asked.length === 4);
  await until(() => {
    clock.advance(1_000);
    return maps > 5;
  });
  answered.resolve(':1\r\n');
  t.same(await counting, [5]);
});

t.test('a store that was stopped goes to no node that it did not know', async t => {
  let greetings = 0;
  let silentAsked = 0;
  const silent = await answeringServer(t, () => {
    silentAsked++;
    return undefined;
  });
  const unknown = await answeringServer(t, () => {
    greetings++;
    return '+PONG\r\n';
  });
  const first: string = await startNode(
    t,
    () => slots([0, 16_383, first]),
    (_command, [key]) => `-MOVED 1 ${key === 'a' ? silent : unknown}\r\n`,
  );
  const store = await openStore(t, first);
  const failing = t.rejects(count(store, [...ONE, { key: 'b', hits: 1 }]), { code: 'store_failed' });
  await until(() => silentAsked > 0);
  await store.stop();
  await failing;
  t.ok(greetings <= 1, 'both were connected to at once, and neither again');
});
