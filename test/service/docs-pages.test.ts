import type { Page } from 'playwright-core';
import t from 'tap';
import { BROWSER_MISSING, firstPaintMs, TestBrowser } from '../support/browser.ts';
import { consoleAddress } from '../support/console.ts';
import { axeFaults, overflowing } from '../support/live-page.ts';
import { firstLook, lookAt, NARROW } from '../support/page-looks.ts';
import { startTasksService } from '../support/tasks/tasks-service.ts';

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
const service = await startTasksService(t);

/** The parts of an operation that its page must show. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, object>>;
}

/** Operations of the OpenAPI document by the path of their page. */
async function documentedOperations(): Promise<ReadonlyMap<string, Operation>> {
  const { paths, webhooks } = await (await fetch(`http://${service.http}/api/v1/openapi.json`)).json();
  const pages = new Map<string, Operation>();
  for (const [items, folder] of [
    [paths, 'operations'],
    [webhooks, 'receivers'],
  ]) {
    for (const { servers: _, ...item } of Object.values<Record<string, Operation>>(items)) {
      for (const operation of Object.values(item as Record<string, Operation>)) {
        pages.set(`/api/docs/${folder}/${operation.operationId}`, operation);
      }
    }
  }
  return pages;
}

/** Runs in the documentation: follows the links to pages, and returns the headings of their responses. */
const FOLLOWING = `async pages => {
  const found = [];
  const shown = () => document.querySelector('h1')?.innerText;
  for (const [path, summary] of pages) {
    document.querySelector('nav[aria-label="Contents"] a[href="' + path + '"]').click();
    while (shown() !== summary) await new Promise(resolve => setTimeout(resolve));
    const headings = [...document.querySelectorAll('h2, h3')].map(heading => heading.innerText);
    found.push([path, headings.filter(text => text.startsWith('Response '))]);
  }
  return found;
}`;

/** The headings of responses on the page of each operation. They are many, so that the page goes through them itself. */
async function pagesOf(
  page: Page,
  operations: ReadonlyMap<string, Operation>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const pages = [...operations].map(([path, { summary }]) => [path, summary]);
  const found = await page.evaluate(`(${FOLLOWING})(${JSON.stringify(pages)})`);
  return new Map(found as [string, string[]][]);
}

t.test('the documentation has a page for each operation, with its responses', options, async t => {
  const operations = await documentedOperations();
  const { page, faults, pageBytes } = await browser.open(t, consoleAddress(service, 'anybody', 'api/docs'));
  await page.getByRole('heading', { name: 'What can a program do here?' }).waitFor();
  t.equal(await page.title(), 'Start · API · Sluice');
  const bytes = await pageBytes();
  t.comment(`first view after ${await firstPaintMs(page)} ms, ${bytes} bytes`);
  t.ok(bytes < 60 * 1024, `${bytes} bytes`);
  const contents = page.getByRole('navigation', { name: 'Contents' });
  const links = await contents.getByRole('link').evaluateAll(all => all.map(one => one.getAttribute('href')));
  t.same(links.filter(link => /operations|receivers/.test(link ?? '')).sort(), [...operations.keys()].sort());
  const headings = await pagesOf(page, operations);
  for (const [path, { responses }] of operations) {
    if (path.includes('receivers')) continue;
    const answers = Object.keys(responses).filter(status => Number(status) < 400);
    t.same(
      headings.get(path)?.map(text => text.split(' ')[1].slice(0, 3)),
      answers,
      path,
    );
  }
  t.same(faults, []);
});

t.test(
  'the documentation finds operations by their fields, and problems by their codes',
  options,
  async t => {
    const { page, faults } = await browser.open(t, `http://${service.http}/api/docs`);
    const contents = page.getByRole('navigation', { name: 'Contents' });
    await contents.getByRole('link', { name: '/tasks/{id}/history' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('run_at');
    await contents.getByRole('link', { name: '/tasks/{id}/history' }).waitFor({ state: 'detached' });
    t.match(page.url(), /\?q=run_at$/, 'the address has the search');
    await contents.getByRole('link', { name: 'POST /tasks', exact: true }).click();
    const body = page.getByRole('region', { name: /^Body/ });
    const runAt = body
      .getByRole('list', { name: 'Fields: Body' })
      .locator(':scope > li')
      .filter({ hasText: /^run_at/ });
    t.match(await runAt.innerText(), /time \(RFC 3339\).*or null[\s\S]*at most 366 days ahead/);
    t.match(await body.innerText(), /worker\s+text\s+required/, 'what must be sent');
    const answer = page.getByRole('region', { name: /^Response 201/ });
    t.match(await answer.innerText(), /replaced\s+true or false\s+not always/, 'what an answer may lack');
    await page.getByRole('link', { name: 'task_key_exists' }).click();
    await page.getByRole('heading', { name: 'An open task has this key', level: 1 }).waitFor();
    t.match(await page.getByRole('region', { name: 'What to do' }).innerText(), 'on_conflict');
    await page.goBack();
    await page.getByRole('heading', { name: 'Create a task', level: 1 }).waitFor();
    t.same(faults, []);
  },
);

t.test('a page that was opened in a background tab is complete when it is seen', options, async t => {
  const { page, faults } = await browser.open(t, `http://${service.http}/api/docs`);
  const hidden = "Object.defineProperty(document, 'hidden', { get: () => globalThis.isSeen !== true });";
  await page.addInitScript({ content: hidden });
  await page.reload();
  await page.locator('.skeleton').waitFor();
  await page.evaluate("isSeen = true; document.dispatchEvent(new Event('visibilitychange'));");
  await page.getByRole('heading', { name: 'What can a program do here?' }).waitFor();
  t.same(faults, []);
});

t.test('the documentation is accessible and fits, narrow and in the dark', options, async t => {
  const { page, faults } = await browser.open(t, consoleAddress(service, 'anybody', 'api/docs'), {
    reducedMotion: 'reduce',
    viewport: NARROW,
    colorScheme: 'dark',
  });
  const fits = async (name: string) =>
    t.same([await axeFaults(page), await overflowing(page)], [[], []], name);
  for (const [path, heading] of [
    ['', 'What can a program do here?'],
    ['/operations/createTask', 'Create a task'],
    ['/receivers/deliverTask', 'A task is pushed to its worker'],
    ['/problems', 'What does an error mean?'],
    ['/problems/version_mismatch', 'The version has changed'],
    ['/nowhere', 'There is no such page'],
  ]) {
    await page.goto(consoleAddress(service, 'anybody', `api/docs${path}`));
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await fits(heading);
  }
  await page.getByRole('button', { name: 'Contents' }).click();
  await page.getByRole('navigation', { name: 'Contents' }).waitFor();
  await fits('contents');
  // The page has status 404, which Chromium reports.
  t.same(
    faults.filter(fault => !fault.includes('/api/docs/nowhere')),
    [],
  );
});

t.test('the documentation is accessible and fits, at three widths and in both schemes', options, async t => {
  const { page, faults } = await browser.open(t, consoleAddress(service, 'anybody', 'api/docs'), {
    reducedMotion: 'reduce',
  });
  for (const [name, path, heading] of [
    ['start', '', 'What can a program do here?'],
    ['operation', '/operations/createTask', 'Create a task'],
    ['receiver', '/receivers/deliverTask', 'A task is pushed to its worker'],
  ]) {
    await firstLook(page);
    await page.goto(consoleAddress(service, 'anybody', `api/docs${path}`));
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await lookAt(t, page, `docs-${name}`);
  }
  t.same(faults, []);
});
