// Takes the pictures of the live page and the console for the documentation, with real traffic on a service of its own.
// Run: npm run pictures. It needs Chromium (the Debian package chromium) and takes about two minutes.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { CONSOLE, createTenant } from './console.mjs';
import { keepAsking, LIVE_PAGE, steer } from './live-page.mjs';
import { startService } from './service.mjs';

const PICTURES = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** How long requests are sent before the first picture, so that the curves have a shape. */
const TRAFFIC_MS = 90_000;

const executablePath = BROWSERS.find(existsSync);
if (executablePath === undefined) {
  console.error('pictures: needs Chromium; install the Debian package chromium');
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'sluice-pictures-'));
const service = await startService(directory);
try {
  await steer(service);
  const tenant = await createTenant(service);
  console.log(`pictures: sending requests for ${TRAFFIC_MS / 1_000} seconds`);
  const end = keepAsking(service);
  await pause(TRAFFIC_MS);
  await takeAll(tenant);
  await end();
  tenant.stop();
} finally {
  service.child.kill('SIGTERM');
  rmSync(directory, { recursive: true, force: true });
}

async function takeAll(tenant) {
  mkdirSync(PICTURES, { recursive: true });
  const root = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath, args: root ? ['--no-sandbox'] : [] });
  try {
    for (const [name, { query, ready, act }] of Object.entries(LIVE_PAGE)) {
      await takeOne(browser, name, `http://${service.debug}/${query}`, { ready, act });
    }
    const port = service.http.split(':').at(-1);
    for (const [name, { query, ready }] of Object.entries(CONSOLE)) {
      const address = `http://${tenant.domain}.localhost:${port}/${query(tenant)}`;
      await takeOne(browser, name, address, { ready, act: page => signIn(page, tenant) });
    }
  } finally {
    await browser.close();
  }
}

async function signIn(page, { token }) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function takeOne(browser, name, address, { ready, act }) {
  const viewport = { width: 1280, height: 800 };
  const page = await browser.newPage({ viewport, timezoneId: 'UTC', locale: 'en-US' });
  await page.goto(address);
  await act?.(page);
  await page.locator(ready).first().waitFor();
  await pause(1_500);
  const path = join(PICTURES, `${name}.png`);
  await page.screenshot({ path });
  console.log(`pictures: ${path}`);
  await page.close();
}
