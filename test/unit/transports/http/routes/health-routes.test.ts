import type { Test } from 'tap';
import t from 'tap';
import { Health } from '../../../../../src/base/health.ts';
import type { Answer } from '../../../../../src/transports/http/answer.ts';
import type { Exchange } from '../../../../../src/transports/http/exchange.ts';
import {
  healthRoute,
  type ReadinessChecks,
  readinessRoutes,
} from '../../../../../src/transports/http/routes/health-routes.ts';
import type { RequestHead } from '../../../../../src/transports/http/routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { onEachEngine } from '../on-each-engine.ts';
import { plain, post, RawConnection } from '../raw-connection.ts';
import { serve } from '../serving.ts';

onEachEngine(
  '/healthcheck is 200 with exactly OK while healthy, otherwise 500 with an empty body, for every method',
  async t => {
    const health = new Health();
    const listener = await serve(t, [healthRoute(health)]);
    const connection = await RawConnection.openFor(t, listener.port);

    const healthy = await connection.ask(plain('GET', '/healthcheck'));
    t.equal(healthy.status, 200);
    t.equal(healthy.body, 'OK');
    t.equal(healthy.headers.get('content-type'), 'text/plain; charset=utf-8');

    health.set('store', false);
    const unhealthy = await connection.ask(plain('GET', '/healthcheck'));
    t.equal(unhealthy.status, 500);
    t.equal(unhealthy.headers.get('content-length'), '0');
    t.equal(unhealthy.headers.get('content-type'), undefined);

    t.equal((await connection.ask(plain('HEAD', '/healthcheck'), 'HEAD')).status, 500);

    health.set('store', true);
    const head = await connection.ask(plain('HEAD', '/healthcheck'), 'HEAD');
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-length'), '2');

    for (const asked of [
      post('/healthcheck', 'x'),
      plain('OPTIONS', '/healthcheck'),
      plain('PROPFIND', '/healthcheck'),
    ]) {
      t.match(await connection.ask(asked), { status: 200, body: 'OK' }, asked);
    }
  },
);

onEachEngine(
  '/healthcheck?verbose shows for each component whether it works, and whether it affects the status',
  async t => {
    const health = new Health();
    const listener = await serve(t, [healthRoute(health)]);
    const connection = await RawConnection.openFor(t, listener.port);
    health.report('store', true);
    health.set('config', true);

    const healthy = await connection.ask(plain('GET', '/healthcheck?verbose'));
    t.equal(healthy.status, 200);
    t.equal(healthy.headers.get('content-type'), 'application/json');
    const decides = { store: false, config: true };
    t.same(JSON.parse(healthy.body), { healthy: true, components: { store: true, config: true }, decides });

    health.report('store', false, 'not connected');
    const storeAway = await connection.ask(plain('GET', '/healthcheck?verbose'));
    t.equal(storeAway.status, 200, 'it does not decide');
    t.same(JSON.parse(storeAway.body), {
      healthy: true,
      components: { store: false, config: true },
      decides,
      notes: { store: 'not connected' },
    });

    health.set('config', false);
    const unhealthy = await connection.ask(plain('GET', '/healthcheck?verbose=1'));
    t.equal(unhealthy.status, 500);
    t.match(JSON.parse(unhealthy.body), { healthy: false, components: { store: false, config: false } });

    t.match(
      await connection.ask(plain('GET', '/healthcheck?verbosely')),
      { status: 500, body: '' },
      'other queries change nothing',
    );
  },
);

async function front(t: Test, checks: ReadinessChecks, health = new Health()) {
  const listener = await serve(t, readinessRoutes(health, checks, new ManualClock(0)));
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${listener.port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return { ask };
}

t.test('/healthz is 200 while the process answers, whatever else is wrong', async t => {
  const { ask } = await front(t, { store: async () => Promise.reject(new Error('away')) });
  t.same(await ask('/healthz'), { status: 200, text: 'OK' });
});

t.test('/readyz is 200 while all checks hold, else 503 with what is wrong', async t => {
  let fault: Error | null = null;
  const store = async () => {
    if (fault !== null) throw fault;
  };
  const { ask } = await front(t, { store, master_key: async () => {} });
  t.same(await ask('/readyz'), {
    status: 200,
    text: '{"ready":true,"components":{"store":"ok","master_key":"ok"},"decides":{"store":true,"master_key":true}}',
  });
  fault = new Error('the store does not answer');
  const { status, text } = await ask('/readyz');
  t.equal(status, 503);
  t.match(JSON.parse(text), {
    ready: false,
    components: { store: 'the store does not answer', master_key: 'ok' },
  });
});

t.test('/readyz follows the health of the process, and shows components that do not affect it', async t => {
  const health = new Health();
  const { ask } = await front(t, {}, health);
  health.set('termination', true);
  health.report('store', false, 'Redis is not connected');
  t.same(await ask('/readyz'), {
    status: 200,
    text:
      '{"ready":true,"components":{"termination":"ok","store":"Redis is not connected"},' +
      '"decides":{"termination":true,"store":false}}',
  });
  health.set('termination', false, 'the process shuts down');
  const { status, text } = await ask('/readyz');
  t.equal(status, 503);
  t.match(JSON.parse(text), { ready: false, components: { termination: 'the process shuts down' } });
  t.equal((await ask('/healthz')).status, 200);
});

t.test('a check that hangs has failed after two seconds, and is not started again meanwhile', async t => {
  let begun = 0;
  const hanging = () => {
    begun++;
    return new Promise<void>(() => {});
  };
  const clock = new ManualClock(0);
  const ready = readinessRoutes(new Health(), { store: hanging }, clock).find(
    ({ path }) => path === '/readyz',
  );
  const ask = () =>
    new Promise<Answer>(resolve => {
      ready?.handle({ answer: resolve } as unknown as Exchange, {} as RequestHead);
    });
  const answers = [ask(), ask(), ask()];
  clock.advance(2_000);
  for (const answer of await Promise.all(answers)) {
    t.match(answer, { status: '503 Service Unavailable', body: /the check timed out after 2000 ms/ });
  }
  t.equal(begun, 1);
  ask();
  t.equal(begun, 2);
});
