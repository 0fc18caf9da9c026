import t from 'tap';
import { BROWSER_MISSING, firstPaintMs, TestBrowser } from '../support/browser.ts';
import { keepAsking, servicePage } from '../support/live-page.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

/** All that the browser loads for the page, compressed. */
const MAX_PAGE_BYTES = 150 * 1024;

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
/** Nothing is sent to it before the tests at the end. */
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

t.test('everything is reached by keyboard', options, async t => {
  const { page, faults } = await browser.open(t, `http://${quiet.debug}/`);
  const rows = page.getByRole('table', { name: 'Top limits' }).locator('tbody tr');
  await rows.first().waitFor();
  const focused = () => page.evaluate('document.activeElement.textContent');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  t.equal(await focused(), await rows.nth(1).textContent());
  await page.keyboard.press('k');
  t.equal(await focused(), await rows.nth(0).textContent());
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await keys.waitFor();
  t.match(await keys.innerText(), /Next row/);
  await page.keyboard.press('j');
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'detached' });
  t.equal(
    await focused(),
    await rows.nth(0).textContent(),
    'the dialog kept the keys and gave the focus back',
  );
  await page.keyboard.press('p');
  await page.getByRole('button', { name: /^Paused/ }).waitFor();
  await page.keyboard.press('p');
  await page.getByRole('button', { name: /^Live/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\?view=limit&path=shop\./);
  t.same(faults, []);
});

t.test('the colors follow the system until the user chooses others', options, async t => {
  const { page, faults } = await browser.open(t, `http://${quiet.debug}/`, { colorScheme: 'dark' });
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  await page.getByRole('button', { name: 'Colors: system' }).waitFor();
  const dark = await background();
  await page.keyboard.press('t');
  await page.getByRole('button', { name: 'Colors: light' }).waitFor();
  const light = await background();
  t.not(light, dark);
  await page.reload();
  await page.getByRole('button', { name: 'Colors: light' }).waitFor();
  t.equal(await background(), light);
  t.same(faults, []);
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

t.test('a view that does not exist says so', options, async t => {
  const { page, faults } = await browser.open(t, `http://${quiet.debug}/?view=nowhere`);
  await page.getByText('There is no view "nowhere"').waitFor();
  await page.getByRole('link', { name: 'Go to the overview' }).click();
  await page.getByRole('heading', { name: 'What is being rejected right now?' }).waitFor();
  t.same(faults, []);
});

// From here on, requests are sent.

t.test('rows keep their order and their place while the pointer is over them', options, async t => {
  const { page } = await browser.open(t, `http://${quiet.debug}/?sort=hits`);
  const rows = page.getByRole('table', { name: 'Top limits' }).locator('tbody tr');
  await rows.first().hover();
  const before = await rows.locator('a').allInnerTexts();
  const place = await rows.first().boundingBox();
  keepAsking(t, quiet);
  await rows
    .filter({ hasText: 'user' })
    .filter({ hasText: /[1-9].*\/s/ })
    .waitFor();
  const rejections = page.locator('.rejection');
  await until(async () => (await rejections.count()) === 6);
  await page.locator('.plot-canvas').first().waitFor();
  t.same(await rows.locator('a').allInnerTexts(), before);
  t.same(await rows.first().boundingBox(), place);
});

t.test('the sort order is in the address, so that a link shows the same', options, async t => {
  const { page, faults } = await browser.open(t, `http://${quiet.debug}/`);
  keepAsking(t, quiet);
  const table = page.getByRole('table', { name: 'Top limits' });
  const sorted = table.locator('th[aria-sort]');
  t.equal(await sorted.innerText(), 'Rejected');
  await table.getByRole('button', { name: 'Hits' }).click();
  await page.waitForURL('**/?sort=hits');
  t.equal(await sorted.innerText(), 'Hits');
  await page.reload();
  await sorted.filter({ hasText: 'Hits' }).waitFor();
  await page.goBack();
  await sorted.filter({ hasText: 'Rejected' }).waitFor();
  t.same(faults, []);
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
