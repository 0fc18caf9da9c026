import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { envoyMissing } from '../support/envoy.ts';
import { freePort } from '../support/free-port.ts';
import type { ModelAnswer, ModelRequest } from '../support/model-server.ts';
import { type ModelCall, ModelGateway } from '../support/proxies/model-gateway.ts';
import { redisFor } from '../support/redis-server.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

// A budget of tokens behind a real Envoy, which runs ops/envoy/budgets.yaml.

const BUDGET = 20_000;
const CLIENTS = 50;

/** Windows and leases outlast the test. */
const rules = (budget: number) => `domain: ai
descriptors:
  - key: user
    holder: lease
    rate_limit: {unit: year, requests_per_unit: ${budget}, reserve: {for: 1h}}
  - key: running
    holder: lease
    rate_limit: {concurrency: {limit: 1000, for: 1h}}
`;

interface Call extends ModelCall {
  readonly max_tokens: number;
  readonly used: number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

for (const [store, settings] of [
  ['in memory', async () => ({})],
  ['in Redis', async t => ({ KVCACHE_URL: (await redisFor(t)).address })],
] satisfies [string, (t: Test) => Promise<Record<string, string>>][]) {
  t.test(
    `of 50 clients at once, those are admitted whose estimates fit; what they used is spent: ${store}`,
    { skip: envoyMissing },
    async t => {
      const gateway = await ModelGateway.start(t, rules(BUDGET), { env: await settings(t) });
      const random = new SeededRandom(1);
      const calls = Array.from({ length: CLIENTS }, (): Call => {
        const max_tokens = 200 + random.below(1_800);
        // Less or more than the estimate.
        return { max_tokens, used: random.below(Math.floor(1.2 * max_tokens)), end: 'held' };
      });
      const rejected: Call[] = [];
      const asked = calls.map(async call => {
        const { status } = await gateway.ask('ann', call);
        if (status === 429) rejected.push(call);
        return status;
      });
      await until(() => gateway.model.running + rejected.length === CLIENTS);
      const admitted = calls.filter(call => !rejected.includes(call));
      const estimates = sum(admitted.map(call => call.max_tokens));
      t.ok(estimates <= BUDGET, `${estimates} tokens are held`);
      t.ok(
        rejected.every(call => call.max_tokens > BUDGET - estimates),
        'no rejected estimate would fit',
      );
      t.ok(rejected.length > 10 && admitted.length > 10, `${admitted.length} were admitted`);
      t.equal(await gateway.left('user', 'ann'), BUDGET - estimates, 'remaining hits are those not held');
      t.equal(await gateway.left('user', 'bob'), BUDGET);
      gateway.model.release();
      const statuses = await Promise.all(asked);
      t.equal(statuses.filter(status => status === 200).length, admitted.length);
      const used = sum(admitted.map(call => call.used));
      await until(async () => (await gateway.left('running', 'ann')) === 1_000);
      t.equal(await gateway.left('user', 'ann'), BUDGET - used);
      // Statistics are counted after the store.
      await until(async () => (await gateway.counted('user', 'settled')) === used);
      const beyond = admitted.map(call => Math.max(call.used - call.max_tokens, 0));
      t.ok(sum(beyond) > 0);
      t.equal(await gateway.counted('user', 'overdrawn'), sum(beyond));
    },
  );

  t.test(
    `while requests come and go, none is admitted beyond the budget: ${store}`,
    { skip: envoyMissing },
    async t => {
      /** What each request that the model has got takes of the budget at least. */
      const taken = new Map<string, number>();
      let most = 0;
      const answerOf = ({ headers, body }: ModelRequest): ModelAnswer => {
        const call = body as unknown as Call;
        // Requests that have ended may be settled or not: their share is the smaller of both.
        taken.set(String(headers['x-lease']), call.max_tokens);
        most = Math.max(most, sum([...taken.values()]));
        taken.set(String(headers['x-lease']), Math.min(call.max_tokens, call.used));
        return call;
      };
      const gateway = await ModelGateway.start(t, rules(BUDGET), { answerOf, env: await settings(t) });
      const random = new SeededRandom(2);
      const used: number[] = [];
      const statuses = new Map<number, number>();
      const client = async (): Promise<void> => {
        for (let i = 0; i < 8; i++) {
          const max_tokens = 100 + random.below(900);
          const call = { max_tokens, used: random.below(max_tokens), stream: random.below(2) === 0 };
          const { status } = await gateway.ask('ann', call);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 200) used.push(call.used);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      t.same([...statuses.keys()].sort(), [200, 429], JSON.stringify([...statuses]));
      t.ok(most <= BUDGET, `${most} tokens`);
      await until(async () => (await gateway.left('running', 'ann')) === 1_000);
      t.equal(await gateway.left('user', 'ann'), BUDGET - sum(used));
      await until(async () => (await gateway.counted('user', 'settled')) === sum(used));
    },
  );
}

t.test(
  'whatever happens to a client or to the model, leases are settled',
  { skip: envoyMissing },
  async t => {
    const gateway = await ModelGateway.start(t, rules(1_000_000));
    const { model } = gateway;
    const clients: AbortController[] = [];
    /** How a call ends, and what is spent then. */
    const ways: readonly [Omit<ModelCall, 'max_tokens'>, spent: number][] = [
      [{ used: 7 }, 7],
      [{ used: 7, stream: true }, 7],
      [{ used: 7, end: 'fails' }, 0],
      [{ used: 7, end: 'dies_early' }, 0],
      [{ used: 7, end: 'dies', stream: true }, 1_000],
      [{ used: 7, end: 'hangs' }, 1_000],
      [{ used: 7, end: 'hangs', stream: true }, 1_000],
    ];
    const asked = Array.from({ length: 49 }, async (_, at) => {
      const [call] = ways[at % ways.length];
      const client = new AbortController();
      if (call.end === 'hangs') clients.push(client);
      return await gateway.ask('ann', { ...call, max_tokens: 1_000, signal: client.signal });
    });
    await until(() => model.requests.length === 49 && model.running === 14);
    for (const client of clients) client.abort();
    await Promise.all(asked);
    const spent = 7 * sum(ways.map(([, each]) => each));
    await until(async () => (await gateway.left('running', 'ann')) === 1_000);
    t.equal(await gateway.left('user', 'ann'), 1_000_000 - spent);

    const streams = Array.from({ length: 5 }, () =>
      gateway.ask('bob', { max_tokens: 1_000, used: 7, end: 'hangs', stream: true }),
    );
    await until(() => model.running === 5);
    model.stop();
    await Promise.all(streams);
    t.equal((await gateway.ask('bob', { max_tokens: 1_000 })).status, 503);
    await until(async () => (await gateway.left('running', 'bob')) === 1_000);
    t.equal(await gateway.left('user', 'bob'), 1_000_000 - 5_000, 'the model has died');
  },
);

t.test(
  'if Sluice stops meanwhile, Envoy goes on, and later settlements count without a lease',
  { skip: envoyMissing },
  async t => {
    const env = { GRPC_PORT: String(await freePort()) };
    const gateway = await ModelGateway.start(t, rules(BUDGET), { env });
    const { model, sluice, envoy } = gateway;
    const first = gateway.ask('ann', { max_tokens: 1_000, used: 7, end: 'held', stream: true });
    await until(() => model.running === 1);
    await sluice.terminate('SIGKILL');
    model.release();
    t.equal((await first).status, 200, 'its second call fails');
    const second = gateway.ask('ann', { max_tokens: 1_000, used: 700, end: 'held', stream: true });
    await until(() => model.running === 1);
    t.ok((await envoy.statistic('cluster.upstream.ratelimit.failure_mode_allowed')) > 0);

    const again = await serviceFor(t, { rules: rules(BUDGET), env });
    await until(() => envoy.sendsTo(again.grpc));
    model.release();
    t.equal((await second).status, 200);
    const left = async (key: string): Promise<unknown> => {
      const descriptors = [{ entries: [{ key, value: 'ann' }], hitsAddend: 0 }];
      const { body } = await askOverHttp(again.http, { domain: 'ai', descriptors });
      return body.statuses?.[0]['limitRemaining'];
    };
    await until(async () => (await left('user')) !== BUDGET);
    t.equal(await left('user'), BUDGET - 700);
    t.equal(await left('running'), 1_000);
  },
);
