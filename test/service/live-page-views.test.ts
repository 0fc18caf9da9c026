import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { keepAsking, servicePage } from '../support/live-page.ts';
import { callOperator } from '../support/operator-service.ts';
import { firstLook, lookAt } from '../support/page-looks.ts';
import { writeRules } from '../support/rule-files.ts';
import { newTenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const CANDIDATE =
  'domain: shop\ndescriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 2}}]\n';

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);

/** A view or a dialog: its address, what shows that it is complete, and how it is opened. */
interface Shown {
  readonly query: string;
  readonly open?: (page: Page) => Promise<void>;
  readonly complete: string;
}

const VIEWS: Readonly<Record<string, Shown>> = {
  overview: { query: '', complete: '.rejections .rejection, table[aria-label="Top limits"] tbody tr' },
  keys: {
    query: '',
    open: page => page.keyboard.press('?'),
    complete: 'dialog .key-list',
  },
  limits: { query: 'view=limits', complete: 'table[aria-label="Limits"] tbody tr' },
  limit: {
    query: 'view=limit&path=shop.user',
    complete: 'table[aria-label="Hottest keys"] tbody tr, .plot canvas',
  },
  key: {
    query: 'view=limit&path=shop.user',
    open: page => page.getByRole('button', { name: 'user=ann' }).click(),
    complete: 'dialog .facts',
  },
  override: {
    query: 'view=limit&path=shop.user',
    open: async page => {
      await page.getByRole('button', { name: 'Override…' }).click();
      await page.getByText('Until…').click();
      await page.getByText('Do the same on the command line').click();
    },
    complete: 'dialog input[type="datetime-local"]',
  },
  reset: {
    query: 'view=limit&path=shop.user',
    open: async page => {
      await page.getByRole('button', { name: 'user=ann' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Reset…' }).click();
    },
    complete: 'dialog .effect',
  },
  explain: {
    query: `view=explain&domain=shop&ask=${encodeURIComponent('[["user","ann"],["path","/api/orders","method","POST"]]')}`,
    complete: '.explain-answer .levels',
  },
  changes: { query: 'view=changes', complete: 'table[aria-label="Active changes"] tbody tr' },
  loads: { query: 'view=loads', complete: '.load-faults' },
  tenants: { query: 'view=tenants', complete: 'table[aria-label="Tenants"] tbody tr' },
  tenant: { query: 'view=tenant&domain=acme', complete: 'table[aria-label="Limits of the tenant"] tbody tr' },
  suspend: {
    query: 'view=tenant&domain=acme',
    open: async page => {
      await page.getByRole('button', { name: 'Suspend…' }).click();
      await page.getByText('Do the same on the command line').click();
    },
    complete: 'dialog .effect',
  },
  'tenant-limit': {
    query: 'view=tenant&domain=acme',
    open: page => page.getByRole('button', { name: 'Change in_flight' }).click(),
    complete: 'dialog .effect',
  },
  rehearsal: {
    query: 'view=rehearsal',
    complete: 'table[aria-label="Limits of the candidate rules"] tbody tr',
  },
};

/** A service with traffic, an override, a ban, a candidate, a load with faults, and tenants. */
async function busyService(t: Test) {
  const candidate = writeRules(tempDirectory(t), { 'shop.yaml': CANDIDATE });
  const root = tempDirectory(t);
  const env = tasksEnv(t, { RUNTIME_ROOT: root, RUNTIME_CANDIDATE: candidate });
  const service = await servicePage(t, env, root);
  keepAsking(t, service);
  const inADay = new Date(Date.now() + 86_400_000).toISOString();
  const put = (path: string, body: object) =>
    callOperator(service, 'PUT', path, { domain: 'shop', until: inADay, ...body });
  await put('/bans', {
    entries: [{ key: 'user', value: '*bot*' }],
    reason: 'scraping of all prices, three nights in a row; see the incident of Monday',
  });
  await put('/overrides', {
    entries: [{ key: 'ip', value: '10.0.0.1' }],
    factor: 2,
    reason: 'a reason that is long enough to be cut off somewhere in the table',
  });
  const acme = await newTenant(service, 'acme');
  await newTenant(service, 'a-tenant-with-a-name-as-long-as-they-get');
  await acme.make('workers', { name: 'crawler' });
  await acme.make('tasks', { worker: 'crawler' });
  await until(async () => {
    const descriptors = [{ entries: [{ key: 'user', value: 'ann' }] }];
    return (await askOverHttp(service.http, { domain: 'shop', descriptors })).status === 429;
  });
  writeRules(root, { 'config/shop.yaml': 'domain: [\n' });
  return service;
}

t.test(
  'all views and dialogs are accessible and fit, at three widths and in both schemes',
  options,
  async t => {
    const service = await busyService(t);
    const { page, faults } = await browser.open(t, `http://${service.debug}/`, { reducedMotion: 'reduce' });
    for (const [name, { query, open, complete }] of Object.entries(VIEWS)) {
      await firstLook(page);
      await page.goto(`http://${service.debug}/?${query}`);
      await page.getByText('Live').first().waitFor();
      await open?.(page);
      await page.locator(complete).first().waitFor();
      await lookAt(t, page, name);
    }
    t.same(faults, []);
  },
);
