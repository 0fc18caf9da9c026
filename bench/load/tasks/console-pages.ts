import { BROWSER_MISSING, TestBrowser } from '../../../test/support/browser.ts';
import { signIn } from '../../../test/support/console.ts';
import { median } from '../../support/statistics.ts';
import { fill } from './fill.ts';
import { atMost, type Part, type Value } from './measurement.ts';
import type { BenchTenant, TaskService } from './task-service.ts';

/** Number of times that each page is opened. */
const VIEWS = 9;

/** From the address being entered until everything is shown, in milliseconds. */
const AIM_MS = 300;

/** Runs in the page: notes when the view is there with everything that it loads. */
const NOTE_TIME = `
  const look = () => {
    const isShown = document.querySelector('h1') !== null && document.querySelector('.skeleton') === null;
    window.shownMs = isShown ? window.shownMs ?? performance.now() : undefined;
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true });
`;

/** The pages of a tenant and the operator's page of tenants, in a browser, among many stored tasks. */
export const consolePages: Part = async ({ service, size }) => {
  if (BROWSER_MISSING !== false) throw new Error(`the part "console" ${BROWSER_MISSING}`);
  const tenant = await service.tenant(4);
  for (const name of ['common', 'rare']) await tenant.json('POST', '/workers', { name, mode: 'pull' });
  await tenant.json('POST', '/schedules', { name: 'daily', worker: 'common', cron: '0 3 * * *', task: {} });
  await fill(tenant, 'rare', 100, '"delay":"30d"');
  await fill(tenant, 'common', size.stored - 100, '"delay":"30d"');
  const ends: (() => unknown)[] = [];
  const closing = { teardown: (end: () => unknown) => ends.push(end) };
  const browser = new TestBrowser(closing as unknown as ConstructorParameters<typeof TestBrowser>[0]);
  try {
    const values: Value[] = [];
    for (const [what, address] of await pages(service, tenant)) {
      const times: number[] = [];
      const token = address.startsWith(home(service, tenant)) ? service.tokenOf(tenant) : null;
      for (let view = 0; view < VIEWS; view++) times.push(await timeToShow(browser, address, token));
      values.push(atMost(`${what}, first view, median of ${VIEWS}`, median(times), 'ms', AIM_MS));
    }
    return values;
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};

/** Where the tenant's console is. */
function home({ httpPort }: TaskService, { domain }: BenchTenant): string {
  return `http://${domain}.localhost:${httpPort}/`;
}

async function pages(
  service: TaskService,
  tenant: BenchTenant,
): Promise<readonly (readonly [what: string, address: string])[]> {
  const firstOf = async (path: string) =>
    ((await tenant.json('GET', path))['data'] as { id: string }[])[0].id;
  const views = {
    tasks: '',
    'tasks of a worker': '?view=tasks&worker=rare',
    'tasks of a status that no task has': '?view=tasks&status=failed',
    'a task': `?view=task&id=${await firstOf('/tasks?limit=1&worker=common')}`,
    workers: '?view=workers',
    'a worker': '?view=worker&id=common',
    schedules: '?view=schedules',
    'a schedule': `?view=schedule&id=${await firstOf('/schedules')}`,
    users: '?view=users',
    'a user': `?view=user&id=${await firstOf('/users')}`,
    usage: '?view=usage',
    audit: '?view=audit',
  };
  const plain = `http://localhost:${service.httpPort}`;
  const live = `http://localhost:${service.debugPort}/`;
  return [
    ...Object.entries(views).map(([what, query]) => [what, `${home(service, tenant)}${query}`] as const),
    ['start of the API pages', `${plain}/api/docs`],
    ['a problem in the API pages', `${plain}/api/docs/problems/not_found`],
    ["the operator's tenants", `${live}?view=tenants`],
    ["the operator's page of a tenant", `${live}?view=tenant&domain=${tenant.domain}`],
  ];
}

/**
 * Opens a page in a window of its own, in which nothing is cached.
 *
 * @param token with which to sign in before; null for pages that need none
 */
async function timeToShow(browser: TestBrowser, address: string, token: string | null): Promise<number> {
  let close: () => unknown = () => {};
  const closing = { teardown: (end: () => unknown) => (close = end) };
  const { page, faults } = await browser.open(
    closing as Parameters<TestBrowser['open']>[0],
    token === null ? address : `${new URL(address).origin}/`,
  );
  try {
    const network = await page.context().newCDPSession(page);
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    if (token !== null) await signIn(page, { token });
    await page.addInitScript({ content: NOTE_TIME });
    await page.goto(address);
    await page.locator('h1').first().waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    if (faults.length > 0) throw new Error(`the page ${address} had faults: ${faults.join('; ')}`);
    return (await page.evaluate('shownMs')) as number;
  } finally {
    await close();
  }
}
