import type { Test } from 'tap';
import t from 'tap';
import { Health } from '../../../../../src/base/health.ts';
import type { Answer } from '../../../../../src/transports/http/answer.ts';
import type { Exchange } from '../../../../../src/transports/http/exchange.ts';
import {
  type ReadinessChecks,
  readinessRoutes,
} from '../../../../../src/transports/http/routes/health-routes.ts';
import type { RequestHead } from '../../../../../src/transports/http/routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { serve } from '../serving.ts';

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

t.test('/readyz follows the health of the process, and tells of what does not decide it', async t => {
  const health = new Health();
  const { ask } = await front(t, {}, health);
  health.set('termination', true);
  health.tell('store', false, 'Redis is not connected');
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

t.test('a check that hangs has failed after two seconds, and is not begun again meanwhile', async t => {
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
