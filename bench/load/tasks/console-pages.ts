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

/** The pages of the console, in a browser, among many stored tasks. */
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
    for (const [what, query] of await pages(tenant)) {
      const times: number[] = [];
      for (let view = 0; view < VIEWS; view++) times.push(await timeToShow(browser, service, tenant, query));
      values.push(atMost(`${what}, first view, median of ${VIEWS}`, median(times), 'ms', AIM_MS));
    }
    return values;
  } finally {
    for (const end of ends.toReversed()) await end();
  }
};

async function pages(tenant: BenchTenant): Promise<readonly (readonly [what: string, query: string])[]> {
  const { data } = (await tenant.json('GET', '/tasks?limit=1&worker=common')) as { data: { id: string }[] };
  return [
    ['tasks', ''],
    ['tasks of a worker', '?view=tasks&worker=rare'],
    ['tasks of a status that no task has', '?view=tasks&status=failed'],
    ['a task', `?view=task&id=${data[0].id}`],
    ['workers', '?view=workers'],
    ['a worker', '?view=worker&id=common'],
    ['schedules', '?view=schedules'],
    ['users', '?view=users'],
    ['audit', '?view=audit'],
  ];
}

/** Opens a page in a window of its own, in which nothing is cached. */
async function timeToShow(
  browser: TestBrowser,
  service: TaskService,
  tenant: BenchTenant,
  query: string,
): Promise<number> {
  let close: () => unknown = () => {};
  const closing = { teardown: (end: () => unknown) => (close = end) };
  const address = `http://${tenant.domain}.localhost:${service.httpPort}/`;
  const { page, faults } = await browser.open(closing as Parameters<TestBrowser['open']>[0], address);
  try {
    const network = await page.context().newCDPSession(page);
    await network.send('Network.setCacheDisabled', { cacheDisabled: true });
    await signIn(page, { token: service.tokenOf(tenant) });
    await page.addInitScript({ content: NOTE_TIME });
    await page.goto(`${address}${query}`);
    await page.locator('h1').first().waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    if (faults.length > 0) throw new Error(`the page ${query} had faults: ${faults.join('; ')}`);
    return (await page.evaluate('shownMs')) as number;
  } finally {
    await close();
  }
}
