import { Health } from '../../../../../src/base/health.ts';
import { healthRoute } from '../../../../../src/transports/http/routes/health-routes.ts';
import { onEachEngine } from '../on-each-engine.ts';
import { plain, post, RawConnection } from '../raw-connection.ts';
import { serve } from '../serving.ts';

onEachEngine(
  '/healthcheck is 200 with exactly OK while healthy, else 500 with an empty body, whatever the method',
  async t => {
    const health = new Health();
    const listener = await serve(t, [healthRoute(health)]);
    const connection = await RawConnection.open(listener.port);
    t.teardown(() => connection.destroy());

    await connection.write(plain('GET', '/healthcheck'));
    const healthy = await connection.response();
    t.equal(healthy.status, 200);
    t.equal(healthy.body, 'OK');
    t.equal(healthy.headers.get('content-type'), 'text/plain; charset=utf-8');

    health.set('store', false);
    await connection.write(plain('GET', '/healthcheck'));
    const unhealthy = await connection.response();
    t.equal(unhealthy.status, 500);
    t.equal(unhealthy.headers.get('content-length'), '0');
    t.equal(unhealthy.headers.get('content-type'), undefined);

    await connection.write(plain('HEAD', '/healthcheck'));
    t.equal((await connection.response('HEAD')).status, 500);

    health.set('store', true);
    await connection.write(plain('HEAD', '/healthcheck'));
    const head = await connection.response('HEAD');
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-length'), '2');

    for (const asked of [
      post('/healthcheck', 'x'),
      plain('OPTIONS', '/healthcheck'),
      plain('PROPFIND', '/healthcheck'),
    ]) {
      await connection.write(asked);
      t.match(await connection.response(), { status: 200, body: 'OK' }, asked);
    }
  },
);

onEachEngine(
  '/healthcheck?verbose tells of each component whether it works, and whether it decides',
  async t => {
    const health = new Health();
    const listener = await serve(t, [healthRoute(health)]);
    const connection = await RawConnection.open(listener.port);
    t.teardown(() => connection.destroy());
    health.tell('store', true);
    health.set('config', true);

    await connection.write(plain('GET', '/healthcheck?verbose'));
    const healthy = await connection.response();
    t.equal(healthy.status, 200);
    t.equal(healthy.headers.get('content-type'), 'application/json');
    const decides = { store: false, config: true };
    t.same(JSON.parse(healthy.body), { healthy: true, components: { store: true, config: true }, decides });

    health.tell('store', false, 'not connected');
    await connection.write(plain('GET', '/healthcheck?verbose'));
    const storeAway = await connection.response();
    t.equal(storeAway.status, 200, 'it does not decide');
    t.same(JSON.parse(storeAway.body), {
      healthy: true,
      components: { store: false, config: true },
      decides,
      notes: { store: 'not connected' },
    });

    health.set('config', false);
    await connection.write(plain('GET', '/healthcheck?verbose=1'));
    const unhealthy = await connection.response();
    t.equal(unhealthy.status, 500);
    t.match(JSON.parse(unhealthy.body), { healthy: false, components: { store: false, config: false } });

    await connection.write(plain('GET', '/healthcheck?verbosely'));
    t.match(await connection.response(), { status: 500, body: '' }, 'other queries change nothing');
  },
);
