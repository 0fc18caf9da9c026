import t from 'tap';
import { askByRawHttp, runProxyExam } from '../exam/behind-proxy.ts';
import { DecisionLoad } from '../support/proxies/decision-load.ts';
import type { Substitutions } from '../support/proxies/front.ts';
import { runNginx, startNginx } from '../support/proxies/nginx.ts';
import { Place } from '../support/proxies/place.ts';
import { startWebsite } from '../support/proxies/website.ts';
import { serviceFor } from '../support/service.ts';
import { missing } from '../support/tools.ts';

// A real nginx runs the files of ops/nginx as they are, except addresses and host names.

const skip = missing('nginx', 'nginx');

t.test('through sluice.conf callers get', { skip }, t => runProxyExam(t, startNginx));

t.test('sluice.conf: the restart of one of two instances fails no call', { skip }, async t => {
  const places = await Promise.all([0, 1].map(() => Place.open(t)));
  const fronts = await startNginx(t, places);
  const load = new DecisionLoad(fronts);
  await load.goesOn(50);
  await places[0].service.terminate();
  await load.goesOn(50);
  await places[0].start();
  await load.goesOn(50);
  await load.end();
  t.same(load.failures, []);
});

/** What proxy_pass does where the file does not say otherwise: it speaks HTTP/1.0. */
const BY_DEFAULT: Substitutions = [
  ['proxy_http_version 1.1;', ''],
  ['proxy_set_header Connection "";', ''],
];

t.test(
  'HTTP/1.0: sluice.conf takes it; by default nginx sends it, for the engine node alone',
  { skip },
  async t => {
    const [uws, node] = await Promise.all(
      ['uws', 'node'].map(name => Place.open(t, { HTTP_SERVER_ENGINE: name })),
    );
    const { decisions } = await startNginx(t, [uws]);
    t.match(await askByRawHttp(decisions, '1.0'), { status: 200, body: /"overallCode":"OK"/ });
    const toUws = await startNginx(t, [uws], BY_DEFAULT);
    t.match(await askByRawHttp(toUws.decisions, '1.1'), { status: 505 });
    const toNode = await startNginx(t, [node], BY_DEFAULT);
    t.match(await askByRawHttp(toNode.decisions, '1.1'), { status: 200, body: /"overallCode":"OK"/ });
  },
);

const RULES = `domain: nginx
descriptors:
  - key: remote_address
    rate_limit: { unit: year, requests_per_unit: 3 }
`;

t.test(
  'limit-requests.conf: 200 within the limit, then 429; 200 while Sluice is stopped',
  { skip },
  async t => {
    const service = await serviceFor(t, { rules: RULES, env: { DISABLE_STATS: 'true' } });
    const [front] = await runNginx(
      t,
      'limit-requests.conf',
      ['listen 80;'],
      [
        ['127.0.0.1:8080', service.http],
        ['127.0.0.1:8000', await startWebsite(t)],
        // A busy machine may stall for longer than a proxy should wait.
        ['_timeout 100ms', '_timeout 10s'],
        ['location / {', 'location /private/ { deny all; }\n\n    location / {'],
      ],
    );
    const ask = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`http://${front}${path}`, init);
      return { status: response.status, text: await response.text() };
    };
    const body = 'b'.repeat(100_000);
    t.same(
      await ask('/', { method: 'POST', body }),
      { status: 200, text: body },
      'the body is not for Sluice',
    );
    t.same(await ask('/forbidden'), { status: 403, text: 'no entry' }, '403 of the web server itself');
    t.match(await ask('/private/'), { status: 403 }, '403 of nginx itself');
    t.match(await ask('/'), { status: 200 });
    t.same(await ask('/'), { status: 429, text: 'Too many requests\n' });
    t.match(await ask('/.decision'), { status: 404 }, 'nobody asks for a decision from outside');
    await service.terminate();
    t.same(await ask('/', { method: 'POST', body }), { status: 200, text: body });
  },
);
