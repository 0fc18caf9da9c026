import t from 'tap';
import { BROWSER_MISSING, firstPaintMs, TestBrowser } from '../support/browser.ts';
import { keepAsking, servicePage } from '../support/live-page.ts';
import { startRedis } from '../support/redis-server.ts';

/** All that the browser loads for the page, compressed. */
const MAX_PAGE_BYTES = 150 * 1024;

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
const quiet = await servicePage(t);

t.test('the overview shows what is rejected while requests are sent', options, async t => {
  const service = await servicePage(t);
  const { page, faults, pageBytes } = await browser.open(t, `http://${service.debug}/`);
  await page.getByRole('heading', { name: 'What is being rejected right now?' }).waitFor();
  await page.getByText('Nothing was rejected', { exact: true }).waitFor();
  t.equal(await page.title(), 'Overview · Sluice');
  t.comment(`first view after ${await firstPaintMs(page)} ms`);
  keepAsking(t, service);
  const rejected = page.getByRole('region', { name: 'Rejected' }).locator('.tile-figure');
  await rejected.filter({ hasNotText: /^0\/s$/ }).waitFor();
  const limits = page.getByRole('table', { name: 'Top limits' });
  await limits.getByRole('row', { name: /shop › user .* [1-9].*\/s$/ }).waitFor();
  t.match(
    await limits.getByRole('row').nth(1).innerText(),
    'user',
    'the limit that rejects the most is first',
  );
  t.match(await limits.innerText(), 'Shadow');
  await limits.getByRole('button', { name: 'Fullest key' }).click();
  await page.waitForURL('**/?sort=fullest');
  await limits.getByRole('row', { name: /shop › ip .*\d+.% \d+ of 3\b/ }).waitFor();
  t.match(await limits.getByRole('row').nth(1).innerText(), /ip[\s\S]* of 3\b/, 'the fullest key of all');
  const rejections = page.getByRole('region', { name: 'Last rejections' });
  await rejections.getByText('user=ann').first().waitFor();
  t.match(await rejections.innerText(), / of 5\b/);
  const plot = page.getByRole('figure').filter({ hasText: 'Hits by outcome' });
  await plot.locator('canvas').waitFor();
  await plot.getByRole('button', { name: 'Show the figures as a table' }).click();
  t.match(await plot.getByRole('table').innerText(), /Rejected\s+Shadow\s+Near limit\s+Allowed/);
  t.same(faults, []);
  const bytes = await pageBytes();
  t.ok(bytes > 10_000 && bytes < MAX_PAGE_BYTES, `${bytes} bytes`);
});

t.test('an outage of the store is shown, with what happens to requests, until it ends', options, async t => {
  let redis = await startRedis();
  t.teardown(() => redis.stop());
  const { port } = redis;
  const service = await servicePage(t, { KVCACHE_URL: redis.address, STORE_FAILURE_MODE: 'allow' });
  const { page } = await browser.open(t, `http://${service.debug}/`);
  await page.getByText('Healthy').waitFor();
  const outage = page.getByRole('banner').getByText('Store down: requests are allowed');
  t.equal(await outage.count(), 0);
  keepAsking(t, service);
  await redis.stop();
  await outage.waitFor();
  redis = await startRedis({ port });
  await outage.waitFor({ state: 'detached' });
});

t.test('a lost connection shows since when, and ends by itself', options, async t => {
  const { page } = await browser.open(t, `http://${quiet.debug}/`);
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  t.notOk(await page.getByText('Connection lost').isVisible());
  quiet.signal('SIGSTOP');
  t.teardown(() => quiet.signal('SIGCONT'));
  await page.getByText(/Connection lost for \d+s; the figures are from before/).waitFor();
  t.match(await page.title(), /^Connection lost/);
  t.equal(await page.getByRole('status').first().innerText(), 'The connection is lost. The figures are old.');
  t.equal(await page.locator('main.stale').count(), 1);
  quiet.signal('SIGCONT');
  await page.getByText('Connection lost').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  t.equal(await page.locator('main.stale').count(), 0);
  await quiet.terminate();
  await page.getByText('Connection lost').waitFor();
});
