import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { indexPages } from '../../../../src/transports/debug/pages.ts';
import { HttpListener } from '../../../../src/transports/http/listener.ts';
import { type PageFiles, readPageFiles } from '../../../../src/transports/page/page-files.ts';
import { PageRoutes } from '../../../../src/transports/page/page-routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { sendRaw } from '../../../support/raw-http.ts';
import { httpEngine, onEachEngine } from '../http/on-each-engine.ts';

/** All that a browser loads for the first view, compressed. */
const MAX_PAGE_BYTES = 150 * 1024;

const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };

/** A static import or export, in compiled and in minified modules. */
const IMPORT = /^(?:import|export) ?(?:[\w*{][^'"();]*from ?)?['"]([^'"]+)['"]/gm;

/** A port with the live page and an index of one line. */
async function served(t: Test, read?: () => Promise<PageFiles>) {
  const log = new KeepingLogger();
  const { root, unknown } = indexPages([]);
  const page = new PageRoutes('live', read);
  const listener = new HttpListener({
    name: 'debug',
    engine: httpEngine(),
    host: '127.0.0.1',
    port: 0,
    settings: { host: 'DEBUG_HOST', port: 'DEBUG_PORT', sharing: 'never' },
    routes: [{ ...root, handle: page.documentOr(root.handle) }, page.files],
    unknown,
    drainMs: 0,
    clock: new ManualClock(0),
    log,
  });
  await listener.start();
  t.teardown(() => listener.stop());
  const address = `127.0.0.1:${listener.port}`;
  const get = (path: string, init?: RequestInit) => fetch(`http://${address}${path}`, init);
  return { address, log, get, document: () => get('/', { headers: BROWSER }) };
}

/** A file with its bytes as they were sent: `fetch` would decompress them. */
function sent(
  address: string,
  path: string,
): Promise<{ readonly coding: string | undefined; readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { ...BROWSER, 'accept-encoding': 'gzip' };
    const asked = request(`http://${address}${path}`, { headers }, response => {
      const coding = response.headers['content-encoding'];
      buffer(response).then(bytes => resolve({ coding, bytes }), reject);
    });
    asked.on('error', reject).end();
  });
}

/** The addresses of a kind of element in the document. */
function addresses(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, address]) => address);
}

onEachEngine('a browser gets the live page, everything else the list of text pages', async t => {
  const { get, document } = await served(t);
  const page = await document();
  t.equal(page.status, 200);
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.match(page.headers.get('vary'), 'Accept');
  t.match(await page.text(), '<title>Sluice</title>');
  for (const accept of ['*/*', 'text/plain', 'application/json']) {
    const text = await get('/', { headers: { accept } });
    t.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8', accept);
    t.equal(await text.text(), '', 'the list is that of the other pages');
  }
  t.equal((await get('/nowhere', { headers: BROWSER })).status, 404);
});

onEachEngine('the document allows nothing but files of its own origin and its import map', async t => {
  const { document } = await served(t);
  const page = await document();
  const html = await page.text();
  const scripts = addresses(html, /<script(?![^>]* src=)[^>]*>(.*?)<\/script>/gs);
  t.equal(scripts.length, 1, 'the import map is the only script in the document');
  const hash = createHash('sha256').update(scripts[0]).digest('base64');
  t.equal(
    page.headers.get('content-security-policy'),
    `default-src 'none'; script-src 'self' 'sha256-${hash}'; style-src 'self'; connect-src 'self'; ` +
      "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  t.equal(page.headers.get('x-content-type-options'), 'nosniff');
  t.equal(page.headers.get('referrer-policy'), 'no-referrer');
  t.notMatch(html, /\bstyle=|\bon\w+=|https?:/);
});

onEachEngine(
  'a browser gets the page with few requests: one module, and the packages it imports, which are small',
  async t => {
    const { address, document } = await served(t);
    const html = await (await document()).text();
    const { imports } = JSON.parse(addresses(html, /<script type="importmap">(.*)<\/script>/g)[0]);
    const preloaded = new Set(addresses(html, /<link rel="modulepreload" href="([^"]+)">/g));
    for (const path of Object.values(imports)) t.ok(preloaded.has(String(path)), `${path}`);
    const wanted = new Set(['/', ...addresses(html, /(?:href|src)="([^"]+)"/g)]);
    t.ok(wanted.size > 5 && wanted.size < 10, `${wanted.size} requests`);
    let total = 0;
    for (const path of wanted) {
      const { coding, bytes } = await sent(address, path);
      t.equal(coding, 'gzip', path);
      total += bytes.length;
      if (!path.endsWith('.js')) continue;
      const specifiers = addresses(gunzipSync(bytes).toString(), IMPORT);
      for (const specifier of specifiers) {
        const target = specifier.startsWith('.')
          ? new URL(specifier, `http://${address}${path}`).pathname
          : imports[specifier];
        t.ok(preloaded.has(target), `${path} imports ${specifier}`);
      }
    }
    t.ok(total < MAX_PAGE_BYTES, `${total} bytes`);
  },
);

t.test('the console is as small', async t => {
  const { files } = await readPageFiles('console');
  const total = files.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0);
  t.ok(total < MAX_PAGE_BYTES, `${total} bytes`);
});

onEachEngine(
  'a browser that has a file is told so, and need not ask while the version is the same',
  async t => {
    const { get, document } = await served(t);
    const page = await document();
    const main = addresses(await page.text(), /<script type="module" src="([^"]+)"/g)[0];
    t.equal(page.headers.get('cache-control'), 'no-cache');
    const file = await get(main);
    t.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    for (const [path, response] of [
      ['/', page],
      [main, file],
    ] as const) {
      const tag = response.headers.get('etag') ?? '';
      t.match(tag, /^"[\w-]{22}-gz"$/, 'a strong tag');
      for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const again = await get(path, { headers: { ...BROWSER, 'if-none-match': ifNoneMatch } });
        t.equal(again.status, 304, ifNoneMatch);
        t.equal(again.headers.get('etag'), tag);
        t.equal(await again.text(), '');
      }
      const other = await get(path, { headers: { ...BROWSER, 'if-none-match': '"other"' } });
      t.equal(other.status, 200);
    }
  },
);

onEachEngine('a client that does not read gzip gets the same bytes under another tag', async t => {
  const { get, document } = await served(t);
  const main = addresses(await (await document()).text(), /<script type="module" src="([^"]+)"/g)[0];
  const gzipped = await get(main);
  const plain = await get(main, { headers: { 'accept-encoding': 'br, gzip;q=0' } });
  t.equal(plain.headers.get('content-encoding'), null);
  t.match(plain.headers.get('etag'), /^"[\w-]{22}"$/);
  t.equal(await plain.text(), await gzipped.text());
});

onEachEngine('HEAD has the fields of GET; other methods are refused', async t => {
  const { get, document } = await served(t);
  const main = addresses(await (await document()).text(), /<script type="module" src="([^"]+)"/g)[0];
  const head = await get(main, { method: 'HEAD' });
  t.equal(head.status, 200);
  t.equal(await head.text(), '');
  t.equal(head.headers.get('etag'), (await get(main)).headers.get('etag'));
  t.equal((await get(main, { method: 'POST' })).status, 405);
});

onEachEngine('no path leads to another file', async t => {
  const { address, document } = await served(t);
  const main = addresses(await (await document()).text(), /<script type="module" src="([^"]+)"/g)[0];
  const folder = main.slice(0, main.lastIndexOf('/'));
  for (const path of [
    `${folder}/../../package.json`,
    `${folder}/%2e%2e/%2e%2e/package.json`,
    `${folder}/packages/..%2flive.js`,
    `${folder}/live/`,
    `${folder}/live/main.tsx`,
    `${folder}/live/main.js`,
    `${folder}/live.js/`,
    `${folder}/__proto__`,
    '/page/live/',
    '/page/live/000000000000/live.js',
  ]) {
    const answer = await sendRaw(address, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    t.equal(answer.status, 404, path);
    t.match(answer.body, 'There is no such file');
  }
});

onEachEngine('files are read when somebody asks, once, and again after a failure', async t => {
  let reads = 0;
  const { document, get, log } = await served(t, async () => {
    reads++;
    if (reads === 1) throw new Error('the folder build/pages is missing');
    return readPageFiles('live');
  });
  await get('/');
  t.equal(reads, 0);
  t.equal((await document()).status, 500);
  t.match(log.lines.at(-1), { fields: { error: /build\/pages is missing/ } });
  const [one, other] = await Promise.all([document(), document()]);
  t.same([one.status, other.status], [200, 200]);
  t.equal(reads, 2);
});
