import t from 'tap';
import { envoyMissing, type Substitutions } from '../support/envoy.ts';
import { askModel, ModelGateway } from '../support/proxies/model-gateway.ts';
import { redisFor } from '../support/redis-server.ts';
import { serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

// A limit on what runs at once behind real Envoys, which run ops/envoy/budgets.yaml.

const LIMIT = 5;
const CLIENTS = 50;

const rules = (length: string) => `domain: ai
descriptors:
  - key: running
    holder: lease
    rate_limit: {concurrency: {limit: ${LIMIT}, for: ${length}}}
`;

for (const [where, isShared] of [
  ['two threads of one process', false],
  ['two processes and one Redis', true],
] as const) {
  t.test(
    `with 50 clients at two Envoys, the model never has more than 5 requests at once: ${where}`,
    { skip: envoyMissing },
    async t => {
      const env = isShared ? { KVCACHE_URL: (await redisFor(t)).address } : {};
      const gateway = await ModelGateway.start(t, rules('1h'), { env });
      const { model, sluice } = gateway;
      const other = isShared ? await serviceFor(t, { rules: rules('1h'), env }) : sluice;
      const envoys = [gateway.envoy, await gateway.another(t, other)];
      let done = 0;
      let rejected = 0;
      const clients = Array.from({ length: CLIENTS }, async (_, at) => {
        const ask = () => askModel(envoys[at % 2], 'ann', { used: 1, end: 'held', stream: at % 3 === 0 });
        let reply = await ask();
        for (; reply.status === 429; reply = await ask()) rejected++;
        t.equal(reply.status, 200);
        done++;
      });
      await until(() => {
        // One ends whenever as many run as may.
        if (model.running >= Math.min(LIMIT, CLIENTS - done)) model.release(1);
        return done === CLIENTS;
      });
      await Promise.all(clients);
      t.equal(model.mostRunning, LIMIT);
      t.equal(model.requests.length, CLIENTS);
      t.ok(rejected > CLIENTS, `${rejected} rejected requests`);
      await until(async () => (await gateway.left('running', 'ann')) === LIMIT);
      const counted = async (what: string): Promise<number> => {
        const counts = [...new Set([sluice, other])].map(each => gateway.counted('running', what, each));
        return (await Promise.all(counts)).reduce((total, count) => total + count, 0);
      };
      // Statistics are counted after the store has freed the last slot.
      await until(async () => (await counted('settled')) === CLIENTS);
      t.equal(await counted('held'), CLIENTS);
      t.equal(await counted('expired'), 0);
    },
  );
}

/** A refund in place of `lease_action`. */
const BY_REFUNDS: Substitutions = [
  [
    `  - generic_key: { descriptor_key: lease_action, descriptor_value: release }
                          apply_on_stream_done: true
`,
    `apply_on_stream_done: true
                          hits_addend: { number: 1, is_negative_hits: true }
`,
  ],
];

for (const [how, substitutions] of [
  ['with lease_action', []],
  ['with refunds', BY_REFUNDS],
] as const) {
  t.test(
    `clients that disconnect free their own slots, and rejected ones none: ${how}`,
    { skip: envoyMissing },
    async t => {
      const gateway = await ModelGateway.start(t, rules('1h'), { substitutions });
      const { model } = gateway;
      for (const stream of [false, true]) {
        const clients = Array.from({ length: LIMIT }, () => new AbortController());
        const asked = clients.map(({ signal }) => gateway.ask('ann', { end: 'hangs', stream, signal }));
        await until(() => model.running === LIMIT);
        const others = Array.from({ length: 20 }, () => gateway.ask('ann', { used: 1 }));
        t.same(
          (await Promise.all(others)).map(({ status }) => status),
          Array(20).fill(429),
        );
        t.equal((await gateway.ask('ann', { used: 1 })).status, 429, 'those have freed nothing');
        clients[0].abort();
        await until(async () => (await gateway.left('running', 'ann')) === 1);
        for (const client of clients) client.abort();
        await Promise.all(asked);
        await until(async () => (await gateway.left('running', 'ann')) === LIMIT);
        await until(() => model.running === 0);
      }
      t.equal(model.mostRunning, LIMIT);
    },
  );
}

t.test('slots that nobody frees come back when their leases end', { skip: envoyMissing }, async t => {
  const gateway = await ModelGateway.start(t, rules('4s'));
  const { model, envoy, sluice } = gateway;
  const ends = (): number => Date.now() + 4_000;
  const another = await gateway.another(t);

  // A client disconnects before Sluice answers.
  sluice.signal('SIGSTOP');
  const client = new AbortController();
  const asked = askModel(another, 'bob', { used: 1, signal: client.signal });
  await until(async () => (await another.statistic('cluster.sluice.upstream_rq_active')) === 1);
  client.abort();
  await asked;
  await until(async () => (await another.statistic('http.front.downstream_rq_active')) === 0);
  sluice.signal('SIGCONT');

  // An Envoy is killed with all of its requests.
  const earliest = ends();
  const calls = Array.from({ length: LIMIT }, () => gateway.ask('ann', { end: 'hangs', stream: true }));
  await until(() => model.running === LIMIT);
  const latest = ends();
  await envoy.kill();
  await Promise.all(calls);
  await until(() => model.running === 0);
  let isEarly = false;
  await until(async () => {
    const left = await gateway.left('running', 'ann');
    isEarly ||= left > 0 && Date.now() < earliest;
    return Date.now() > latest;
  });
  t.notOk(isEarly, 'no slot is free before its lease has ended');
  t.equal(await gateway.left('running', 'ann'), LIMIT);
  await until(async () => (await gateway.left('running', 'bob')) === LIMIT);
  t.ok((await gateway.counted('running', 'expired')) >= LIMIT);
  t.equal((await askModel(another, 'ann', { used: 1 })).status, 200);
});
