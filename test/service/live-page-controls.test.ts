import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { keepAsking, servicePage } from '../support/live-page.ts';
import { until } from '../support/until.ts';

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
/** Nothing is sent to it before the tests at the end. */
const quiet = await servicePage(t);

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
