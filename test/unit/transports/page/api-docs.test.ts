import type { Test } from 'tap';
import { PROBLEMS, type ProblemCode, problemType } from '../../../../src/tasks/rest/checks/problem-list.ts';
import { HttpListener } from '../../../../src/transports/http/listener.ts';
import { jsonNotFound } from '../../../../src/transports/http/routes.ts';
import { apiDocsRoutes } from '../../../../src/transports/page/api-docs.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { httpEngine, onEachEngine } from '../http/on-each-engine.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const HTML = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8';

/** Returns a function that asks a port with the documentation, and does not follow redirects. */
async function served(t: Test): Promise<(path: string, accept: string) => Promise<Response>> {
  const routes = apiDocsRoutes();
  const listener = new HttpListener({
    name: 'HTTP',
    engine: httpEngine(),
    host: '127.0.0.1',
    port: 0,
    settings: { host: 'HOST', port: 'PORT', sharing: 'never' },
    routes,
    unknown: jsonNotFound(routes),
    drainMs: 0,
    clock: new ManualClock(0),
    log: new KeepingLogger(),
  });
  await listener.start();
  t.teardown(() => listener.stop());
  return (path, accept) =>
    fetch(`http://127.0.0.1:${listener.port}${path}`, { headers: { accept }, redirect: 'manual' });
}

onEachEngine(
  'the type of each problem leads to its explanation: as text, as JSON, and as a page',
  async t => {
    const ask = await served(t);
    for (const code of CODES) {
      const { status, title, meaning, remedy } = PROBLEMS[code];
      const text = await ask(problemType(code), '*/*');
      t.equal(text.status, 200, code);
      t.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
      t.equal(await text.text(), `${code} (${status}): ${title}\n\n${meaning}\n\n${remedy}\n`);
      const json = await ask(problemType(code), 'application/json');
      t.same(await json.json(), { type: `/errors/${code}`, code, status, title, meaning, remedy });
      const page = await ask(problemType(code), HTML);
      t.equal(page.status, 303);
      t.equal(page.headers.get('location'), `/api/docs/problems/${code}`);
      t.match(page.headers.get('vary'), 'Accept');
    }
  },
);

onEachEngine('all problem codes are a list', async t => {
  const ask = await served(t);
  const lines = (await (await ask('/errors', '*/*')).text()).trimEnd().split('\n');
  t.equal(lines.length, CODES.length);
  t.ok(lines.includes('412  version_mismatch: The version has changed'));
  const { problems } = await (await ask('/errors', 'application/json')).json();
  t.same(
    problems.map(({ code }: { code: string }) => code),
    CODES,
  );
  t.equal((await ask('/errors', HTML)).headers.get('location'), '/api/docs/problems');
});

onEachEngine('a code that does not exist has no explanation', async t => {
  const ask = await served(t);
  for (const path of ['/errors/nothing', '/errors/__proto__', '/errors/a/b', '/api/docs/problems/nothing']) {
    const answer = await ask(path, '*/*');
    t.equal(answer.status, 404, path);
    t.match(await answer.text(), 'There is no such problem code');
    const json = await ask(path, 'application/json');
    t.match([json.status, json.headers.get('content-type')], [404, 'application/problem+json']);
  }
});

onEachEngine('a page that does not exist is 404, for browsers with the page that says so', async t => {
  const ask = await served(t);
  for (const path of ['/api/docs/WRONG', '/api/docs/problems/x', '/errors/x', '/errors/%0d%0alocation:x']) {
    const page = await ask(path, HTML);
    t.match([page.status, page.headers.get('content-type')], [404, 'text/html; charset=utf-8'], path);
  }
  t.equal((await ask('/api/docs/WRONG', '*/*')).status, 404);
});

onEachEngine('browsers get the documentation, programs the address of the OpenAPI document', async t => {
  const ask = await served(t);
  for (const path of ['/api/docs', '/api/docs/operations/createTask', '/api/docs/problems/not_found']) {
    const page = await ask(path, HTML);
    t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8', path);
    t.match(
      page.headers.get('content-security-policy'),
      /script-src 'self' 'sha256-[^']+'; style-src 'self';/,
    );
  }
  const text = await ask('/api/docs', '*/*');
  t.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.equal(text.headers.get('vary'), 'Accept', 'a cache must not give it to browsers');
  t.match(await text.text(), '/api/v1/openapi.json');
  t.match(await (await ask('/api/docs/problems/not_found', '*/*')).text(), /^not_found \(404\)/);
  // What is no browser is never sent to the page, which would send it back.
  t.equal((await ask('/api/docs/problems/not_found', 'xtext/html')).status, 200);
});
