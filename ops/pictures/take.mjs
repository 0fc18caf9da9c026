// Takes the pictures of the live page for the documentation, with real traffic on a service of its own.
// Run: npm run pictures. It needs Chromium (the Debian package chromium) and takes about two minutes.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PICTURES = join(ROOT, 'docs/pictures');
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** How long requests are sent before the first picture, so that the curves have a shape. */
const TRAFFIC_MS = 90_000;

const TOKEN = 'a-token-for-the-pictures';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 200}
  - key: path
    value: /search
    rate_limit: {unit: second, requests_per_unit: 20}
  - key: path
    value: /checkout
    rate_limit: {unit: second, requests_per_unit: 40}
  - key: ip
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 300}
  - key: tenant
    descriptors:
      - key: plan
        value: free
        rate_limit: {unit: hour, requests_per_unit: 500}
`;

/** Each picture: its address, and what is done before it is taken. */
const PAGES = {
  overview: { query: '', ready: 'table[aria-label="Top limits"] tbody tr' },
  limit: { query: '?view=limit&path=shop.user', ready: 'table[aria-label="Hottest keys"] tbody tr' },
  override: {
    query: '?view=limit&path=shop.user',
    ready: 'dialog .effect',
    act: async page => {
      await page.getByRole('button', { name: 'user=ann' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Override…' }).click();
      await page.getByLabel('Requests per window').fill('500');
      await page.getByLabel('Reason').fill('ticket 4711: sale');
    },
  },
  explain: {
    query: `?view=explain&domain=shop&ask=${encodeURIComponent('[["user","ann"],["path","/search"]]')}`,
    ready: '.explain-answer .levels',
  },
  changes: { query: '?view=changes', ready: 'table[aria-label="Active changes"] tbody tr' },
  rehearsal: { query: '?view=rehearsal', ready: 'table[aria-label="Keys of the last changes"] tbody tr' },
};

const executablePath = BROWSERS.find(existsSync);
if (executablePath === undefined) {
  console.error('pictures: needs Chromium; install the Debian package chromium');
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'sluice-pictures-'));
const service = await startService();
try {
  await steer();
  console.log(`pictures: sending requests for ${TRAFFIC_MS / 1_000} seconds`);
  const end = keepAsking();
  await pause(TRAFFIC_MS);
  await takeAll();
  await end();
} finally {
  service.child.kill('SIGTERM');
  rmSync(directory, { recursive: true, force: true });
}

/** Starts a service on free ports, and returns its addresses. */
async function startService() {
  mkdirSync(join(directory, 'config'));
  mkdirSync(join(directory, 'candidate'));
  writeFileSync(join(directory, 'config/shop.yaml'), RULES);
  writeFileSync(
    join(directory, 'candidate/shop.yaml'),
    RULES.replace('200}', '120}').replace('300}', '500}'),
  );
  const child = spawn(process.execPath, [join(ROOT, 'ops/launch/sluice.mjs'), 'serve'], {
    env: {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: '0',
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: '0',
      RUNTIME_ROOT: directory,
      RUNTIME_WATCH_ROOT: 'false',
      RUNTIME_CANDIDATE: join(directory, 'candidate'),
      ADMIN_TOKEN: TOKEN,
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', status => reject(new Error(`the service ended with status ${status}`)));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', line => {
        const { '@message': message, http, debug } = line.startsWith('{') ? JSON.parse(line) : {};
        if (message === 'Sluice is ready') resolve({ child, http, debug });
      });
    }
  });
}

/** An override and a ban, for the page with the changes. */
async function steer() {
  const inTwoHours = new Date(Date.now() + 7_200_000).toISOString();
  const put = (kind, body) =>
    fetch(`http://${service.debug}/api/v1/${kind}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ domain: 'shop', until: inTwoHours, ...body }),
    });
  await put('overrides', {
    entries: [{ key: 'user', value: 'zoe' }],
    requests_per_unit: 400,
    reason: 'ticket 4711: sale',
  });
  await put('bans', { entries: [{ key: 'user', value: '*bot*' }], reason: 'copies all prices' });
}

/** Sends requests with skewed keys, more and fewer of them in turn. Returns a function that ends it. */
function keepAsking() {
  let isOver = false;
  const users = ['ann', 'bob', 'eve', 'zoe', 'price-bot-7', 'dan', 'mia', 'leo', 'ida', 'max'];
  const loop = async () => {
    while (!isOver) {
      const skewed = Math.floor(Math.random() ** 2 * users.length);
      const entries = [
        [['user', users[skewed]]],
        [['path', Math.random() < 0.4 ? '/search' : '/checkout']],
        [['ip', `10.0.3.${skewed + 1}`]],
        [
          ['tenant', `t${skewed}`],
          ['plan', skewed % 2 === 0 ? 'free' : 'gold'],
        ],
      ];
      const descriptors = entries.map(pairs => ({ entries: pairs.map(([key, value]) => ({ key, value })) }));
      const body = JSON.stringify({ domain: 'shop', descriptors });
      await (await fetch(`http://${service.http}/json`, { method: 'POST', body })).arrayBuffer();
      await pause(8 + 8 * Math.sin(Date.now() / 9_000));
    }
  };
  const running = loop();
  return async () => {
    isOver = true;
    await running;
  };
}

async function takeAll() {
  mkdirSync(PICTURES, { recursive: true });
  const root = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath, args: root ? ['--no-sandbox'] : [] });
  try {
    for (const [name, { query, ready, act }] of Object.entries(PAGES)) {
      const page = await browser.newPage({
        viewport: { width: 1280, height: 800 },
        timezoneId: 'UTC',
        locale: 'en-US',
      });
      await page.goto(`http://${service.debug}/${query}`);
      await act?.(page);
      await page.locator(ready).first().waitFor();
      await pause(1_500);
      const path = join(PICTURES, `${name}.png`);
      await page.screenshot({ path });
      console.log(`pictures: ${path}`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}
