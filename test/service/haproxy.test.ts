import t from 'tap';
import { askByRawHttp, runProxyExam } from '../exam/behind-proxy.ts';
import { DecisionLoad } from '../support/proxies/decision-load.ts';
import { startHaproxy } from '../support/proxies/haproxy.ts';
import { Place } from '../support/proxies/place.ts';
import { missing } from '../support/tools.ts';

// A real HAProxy runs ops/haproxy/haproxy.cfg as it is, except addresses, host names and the pace of its checks.

const skip = missing('haproxy', 'haproxy');

t.test('through haproxy.cfg callers get', { skip }, t => runProxyExam(t, startHaproxy));

t.test(
  'haproxy.cfg: an instance that drains gets no more calls, and its restart fails none',
  { skip },
  async t => {
    const places = await Promise.all([0, 1].map(() => Place.open(t, { SHUTDOWN_DELAY: '10m' })));
    const fronts = await startHaproxy(t, places);
    const load = new DecisionLoad(fronts);
    await load.goesOn(20);
    const [{ service }] = places;
    const isNow = (state: string) =>
      Promise.all(
        ['http', 'grpc'].map(backend => fronts.says(`Server sluice_${backend}/sluice-1 is ${state}`)),
      );
    const isDown = isNow('DOWN');
    service.signal('SIGTERM');
    await isDown;
    // The test ends the delay with a second signal; those of the first half second count as the first one.
    const again = setInterval(() => service.signal('SIGTERM'), 50);
    await service.ended.finally(() => clearInterval(again));
    await load.goesOn(20);
    const isUp = isNow('UP');
    await places[0].start();
    await isUp;
    await load.goesOn(20);
    await load.end();
    t.same(load.failures, []);
  },
);

t.test('HTTP/1.0: haproxy.cfg passes it on, for the engine node alone', { skip }, async t => {
  const [uws, node] = await Promise.all(
    ['uws', 'node'].map(name => Place.open(t, { HTTP_SERVER_ENGINE: name })),
  );
  const toUws = await startHaproxy(t, [uws]);
  t.match(await askByRawHttp(toUws.decisions, '1.0'), { status: 505 });
  const toNode = await startHaproxy(t, [node]);
  t.match(await askByRawHttp(toNode.decisions, '1.0'), { status: 200, body: /"overallCode":"OK"/ });
});
