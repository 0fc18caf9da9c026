import t, { type Test } from 'tap';
import { NEVER_FULL } from '../../../../src/counters/batch.ts';
import { ACTION } from '../../../../src/counters/leases/lease.ts';
import { hashSlot } from '../../../../src/counters/redis/topology/slot-map.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { leaseClientsExam } from '../../../exam/counter-leases/clients.ts';
import { aftersOf, batchOf, type TestGroup, type TestOp } from '../../../support/counting.ts';
import { callsFor, concurrent, decideLeases, leaseTime, reserving } from '../../../support/leases.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { PLAIN_USER, redisStore, type TestEndpoint, WITHOUT_SCRIPTS } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';

const redis = await startRedis({ args: WITHOUT_SCRIPTS });
const cluster = await startCluster({ args: WITHOUT_SCRIPTS });
t.teardown(() => Promise.all([redis.stop(), cluster.stop()]));

const SERVER: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: '' };
const CLUSTER: TestEndpoint = { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' };

async function open(t: Test, endpoint: TestEndpoint): Promise<CounterStore> {
  const store = redisStore(endpoint);
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

/** Leases end by the clock of Redis, so the time of batches only says which window is the present one. */
const START_MS = Date.now();
const WINDOW_END_S = Math.floor(START_MS / 1_000) + 3_600;

function decide(store: CounterStore, groups: readonly TestGroup[], atMs = START_MS) {
  return decideLeases(store, groups, leaseTime(atMs, WINDOW_END_S));
}

async function each(store: CounterStore, ...ops: readonly TestOp[]) {
  return (
    await decide(
      store,
      ops.map(op => ({ ops: [op] })),
    )
  ).answers;
}

const account = (key: string) => `{l:${key}}a`;
const ends = (key: string) => `{l:${key}}e`;

const tokens = callsFor('tokens', reserving(100));

for (const [name, endpoint] of Object.entries({ 'one server': SERVER, 'a cluster': CLUSTER })) {
  t.test(name, async t => {
    const servers = [redis, ...cluster.nodes];
    t.beforeEach(async () => {
      await Promise.all(servers.map(server => server.command('FLUSHALL')));
      await Promise.all(servers.map(server => server.command('SCRIPT', 'FLUSH')));
    });
    const command = async (words: string, key: string, ...args: (string | number)[]) => {
      const server = endpoint === CLUSTER ? cluster.nodes[await cluster.owner(key)] : redis;
      return server.command(words, key, ...args);
    };

    t.test('two processes', t => {
      leaseClientsExam(
        t,
        async inner => {
          await Promise.all(servers.map(server => server.command('FLUSHALL')));
          return [await open(inner, endpoint), await open(inner, endpoint)];
        },
        START_MS,
      );
      t.end();
    });

    t.test('the account and the records are in a hash, their ends in a sorted set', async t => {
      const store = await open(t, endpoint);
      await each(store, tokens('a').op(60), tokens('b').op(20), tokens('b').op(30));
      t.match(String(await command('HGET', account('tokens'), '')), `${WINDOW_END_S} 30 0 60 2 `);
      const [a, b] = await Promise.all(['=a', '=b'].map(name => command('HGET', account('tokens'), name)));
      t.match(String(a), new RegExp(`^1 60 \\d+ ${WINDOW_END_S}$`));
      t.match(String(b), new RegExp(`^2 30 \\d+ ${WINDOW_END_S}$`));
      const [aEnds, bEnds] = [a, b].map(record => String(record).split(' ')[2]);
      t.same(await command('ZRANGE', ends('tokens'), 0, -1, 'WITHSCORES'), ['=b', `-${bEnds}`, '=a', aEnds]);
    });

    t.test('leases end by the clock of Redis, whatever the clocks of processes say', async t => {
      const store = await open(t, endpoint);
      const slots = callsFor('slots', concurrent(1, { forS: 600 }));
      const { levels } = await decide(store, [{ ops: [slots('a').op(1)] }], START_MS + 500_000);
      t.equal(levels[0]?.endsMs, 600_000);
      const [answer] = (await decide(store, [{ ops: [slots('b').op(1)] }], START_MS + 900_000)).answers;
      t.equal(answer.refused, true);
    });

    t.test('both keys live for longer than the window and all records', async t => {
      const store = await open(t, endpoint);
      await each(store, tokens('a').op(1));
      // A window of an hour, a lease of ten minutes that is remembered for ten more, and a minute for clocks.
      for (const key of [account('tokens'), ends('tokens')]) {
        const left = Number(await command('TTL', key));
        t.ok(left > 3_660 && left <= 3_720, `${key}: ${left} s`);
        await command('EXPIRE', key, 3_700);
      }
      await each(store, tokens('b').op(1));
      for (const key of [account('tokens'), ends('tokens')]) {
        t.ok(Number(await command('TTL', key)) <= 3_700, 'set only if it is needed');
      }
      const lives = Math.floor(Date.now() / 1_000) + 3_600;
      const stored = String(await command('HGET', account('tokens'), ''));
      await command('HSET', account('tokens'), '', stored.replace(/\d+$/, String(lives)));
      await each(store, tokens('c').op(1));
      for (const key of [account('tokens'), ends('tokens')])
        t.ok(Number(await command('TTL', key)) > 3_700, 'set again');
      const days = callsFor('days', reserving(9, { forS: 2_592_000 }));
      await each(store, days('a').op(1), days('a').op(0));
      t.ok(Number(await command('TTL', ends('days'))) > 2 * 2_592_000);
    });

    t.test('a set of leases that was empty gets a time to live again', async t => {
      const store = await open(t, endpoint);
      const slots = callsFor('slots', concurrent(1));
      await each(store, slots('a').op(1), slots('a').refund(1));
      t.equal(await command('EXISTS', ends('slots')), 0);
      await each(store, slots('a').op(1));
      t.ok(Number(await command('TTL', ends('slots'))) > 600);
    });

    t.test('a call that changes nothing creates no key', async t => {
      const store = await open(t, endpoint);
      await each(store, tokens('a').op(0), tokens('a').op(101), tokens('a').refund(1));
      await decide(store, [{ held: true, ops: [tokens('a').op(1)] }]);
      await store.read!(batchOf([{ ops: [tokens('a').op(1)] }], leaseTime(START_MS, WINDOW_END_S)));
      t.equal(await command('EXISTS', account('tokens')), 0);
      t.equal(await command('EXISTS', ends('tokens')), 0);
    });

    t.test('strange keys and holders', async t => {
      const store = await open(t, endpoint);
      const keys = [
        '}',
        '{',
        '{}',
        '}{',
        '{a}b',
        'a{b}c',
        'a}b{c',
        '{{a}}',
        'l:',
        '',
        ' ',
        'ä\n\r',
        '\u0000',
      ];
      const holders = ['', '=', '#', '#1', '}', '\r\n', 'ä', ' '];
      for (const key of keys) {
        const slots = callsFor(key, concurrent(holders.length));
        const answers = await each(store, ...holders.map(holder => slots(holder).op(1)));
        t.same(
          answers.map(({ after }) => after),
          holders.map((_, i) => i + 1),
          JSON.stringify(key),
        );
        t.match(await each(store, slots('=').refund(1), slots('x').op(2)), [{ after: 7 }, { refused: true }]);
      }
      const names = keys.flatMap(key => [account(key), ends(key)]).map(name => Buffer.from(name));
      const hashes = names.map(name => hashSlot(name, 0, name.length));
      t.ok(
        keys.every((_, i) => hashes[2 * i] === hashes[2 * i + 1]),
        'both keys have one hash slot',
      );
    });

    t.test('a server that has lost the script gets it again', async t => {
      const store = await open(t, endpoint);
      await each(store, tokens('a').op(60));
      await Promise.all(servers.map(server => server.command('SCRIPT', 'FLUSH')));
      t.match(await each(store, tokens('b').op(41)), [{ refused: true, after: 60 }]);
      await Promise.all(servers.map(server => server.command('SCRIPT', 'FLUSH')));
      const batch = batchOf([{ ops: [tokens('a').op(1)] }], leaseTime(START_MS, WINDOW_END_S));
      await store.read!(batch);
      t.equal(batch.counts[0], 60);
    });

    t.test('a value of another program fails alone, and stays', async t => {
      const store = await open(t, endpoint);
      await command('SET', account('text'), 'no hash');
      await command('SET', ends('set'), 'no set');
      await command('HSET', account('field'), '', 'no account');
      const batch = batchOf(
        ['text', 'set', 'field', 'good'].map(key => ({ ops: [callsFor(key, reserving(9))('a').op(1)] })),
        leaseTime(START_MS, WINDOW_END_S),
      );
      await store.incrementHoldingBack(batch);
      t.same(aftersOf(batch), [Number.NaN, Number.NaN, Number.NaN, 1]);
      t.match(batch.failureText, /^WRONGTYPE|^ERR value is not the account/);
      t.equal(await command('GET', account('text')), 'no hash');
      t.equal(
        await command('EXISTS', account('set')),
        0,
        'nothing is written of a limit that cannot be read',
      );
    });

    t.test('hits come back if Redis has evicted one of the keys', async t => {
      const store = await open(t, endpoint);
      await each(store, tokens('a').op(60));
      await command('DEL', ends('tokens'));
      await each(store, tokens('b').op(0));
      t.match(await each(store, tokens('b').op(100)), [{ refused: false, after: 100 }]);
      await command('DEL', account('tokens'));
      t.match(await each(store, tokens('c').op(100)), [{ refused: false, after: 100 }]);
    });

    t.test('the hits of all leases that have ended are free, however many those are', async t => {
      const store = await open(t, endpoint);
      const count = 12_000;
      const many = callsFor('many', concurrent(count, { forS: 4, settles: true }));
      let expired = 0;
      for (let first = 0; first < count; first += 2_000) {
        const ops = Array.from({ length: 2_000 }, (_, i) => many(`${first + i}`).op(1));
        expired += (await decide(store, [{ ops }])).levels[0]!.expired;
      }
      await until(async () => Number(await command('ZCOUNT', ends('many'), Date.now(), '+inf')) === 0);
      const { answers, levels } = await decide(store, [{ ops: [many('11999').acting(ACTION.settle)(0)] }]);
      t.match(answers, [{ step: 'settle', held: 1 }], 'an ended lease is known');
      const slots = callsFor('many', concurrent(count, { forS: 4 }));
      const rest = await decide(store, [{ ops: [slots('all').op(count)] }]);
      t.match(rest.answers, [{ refused: false, after: count }]);
      t.equal(expired + levels[0]!.expired + rest.levels[0]!.expired, count);
      t.equal(rest.levels[0]!.held, count);
    });

    t.test('ten thousand leases of one key do not make the next one slow', async t => {
      const store = await open(t, endpoint);
      const many = callsFor('many', concurrent(20_000, { forS: 2 }));
      for (let first = 0; first < 10_000; first += 2_000)
        await each(store, ...Array.from({ length: 2_000 }, (_, i) => many(`${first + i}`).op(1)));
      const elapsed = async (op: TestOp) => {
        const startMs = performance.now();
        const [answer] = await each(store, op);
        return { ms: performance.now() - startMs, answer };
      };
      const times: number[] = [];
      for (let i = 0; i < 20; i++) times.push((await elapsed(many(`more ${i}`).op(1))).ms);
      t.ok(Math.min(...times) < 20, `${Math.min(...times)} ms`);
      await until(async () => (await each(store, many('x').op(0)))[0].after <= 20);
      t.equal(await command('HLEN', account('many')), Number(await command('ZCARD', ends('many'))) + 1);
    });
  });
}

/** Sets the number of records of the account in `KEYS[1]`. */
function withRecords(count: number): string {
  return `local account = redis.call('HGET', KEYS[1], '')
    redis.call('HSET', KEYS[1], '', (string.gsub(account, '^(%d+ %d+ %d+ %d+) %d+', '%1 ${count}')))`;
}

t.test('a key has at most 100,000 leases, and then refuses others', async t => {
  const store = await open(t, SERVER);
  await redis.command('FLUSHALL');
  const slots = callsFor('full', concurrent(1_000_000));
  await each(store, slots('first').op(1));
  const fill = `for i = 1, 99999 do
      redis.call('ZADD', KEYS[2], ARGV[1], 'other' .. i)
    end
    ${withRecords(100_000)}`;
  await redis.command('EVAL', fill, '2', account('full'), ends('full'), String(Date.now() + 600_000));
  t.match(await each(store, slots('next').op(1), slots('first').op(1)), [
    { refused: true, after: 1 },
    { refused: false, after: 2 },
  ]);
  t.match(await each(store, slots('quiet').op(1, { limit: NEVER_FULL })), [{ refused: true }]);
  await each(store, slots('first').refund(2));
  t.match(await each(store, slots('next').op(1)), [{ refused: false, after: 1 }]);
});

t.test('leases that have been settled are forgotten if there are more than 100,000', async t => {
  const store = await open(t, SERVER);
  await redis.command('FLUSHALL');
  await each(store, tokens('first').op(1), tokens('first').op(1));
  const remember = `for i = 1, 100010 do
      redis.call('ZADD', KEYS[2], -(ARGV[1] + i), 'other' .. i)
      redis.call('HSET', KEYS[1], 'other' .. i, '2 1 ' .. (ARGV[1] + i) .. ' 0')
    end
    ${withRecords(100_011)}`;
  const soon = String(Date.now() + 1_000_000);
  await redis.command('EVAL', remember, '2', account('tokens'), ends('tokens'), soon);
  await each(store, tokens('second').op(1), tokens('second').op(1));
  t.equal(await redis.command('ZCARD', ends('tokens')), 100_000);
  t.equal(
    await redis.command('HEXISTS', account('tokens'), '=first'),
    0,
    'the first that would be forgotten',
  );
});

t.test('a user who may not run scripts gets no lease', async t => {
  for (const endpoint of [SERVER, CLUSTER]) {
    const store = await open(t, { ...endpoint, auth: PLAIN_USER });
    const batch = batchOf(
      [{ ops: [tokens('a').op(1)] }, { ops: [{ key: 'plain', hits: 1 }] }],
      leaseTime(START_MS, WINDOW_END_S),
    );
    await store.incrementHoldingBack(batch);
    t.same(aftersOf(batch), [Number.NaN, 1]);
    t.match(batch.failureText, /^ERR limits with leases need scripts/);
  }
});

t.test('a cluster takes back the leases of a request that another limit refuses', async t => {
  await cluster.flush();
  const store = await open(t, CLUSTER);
  const unnamed = callsFor('estimates', reserving(50, { hasHolders: false, estimate: 20 }));
  const slots = callsFor('slots', concurrent(1));
  const of = (holder: string, hits: number): TestOp[] => [
    tokens(holder).op(hits),
    unnamed('').op(0),
    callsFor('spent', reserving(50))('').op(5),
    slots(holder).op(1),
  ];
  t.match(
    (await decide(store, [{ ops: of('a', 10) }])).answers.map(({ after }) => after),
    [10, 20, 5, 1],
  );
  t.match((await decide(store, [{ ops: of('b', 10) }])).answers, [
    { heldBack: true, after: 10, held: 0 },
    { heldBack: true, after: 20, held: 0 },
    { heldBack: true, after: 5, spent: 0 },
    { refused: true, heldBack: false, after: 1 },
  ]);
  const full: TestOp = { key: 'count', hits: 9, limit: 8 };
  t.match((await decide(store, [{ ops: [...of('c', 10).slice(0, 3), full] }])).answers, [
    { heldBack: true, after: 10, held: 0 },
    { heldBack: true, after: 20, held: 0 },
    { heldBack: true, after: 5, spent: 0 },
    { heldBack: false, after: 9 },
  ]);
  t.match((await decide(store, [{ ops: of('a', 4).slice(0, 1) }])).answers, [{ after: 4, held: 10 }]);
});
