import type { Page } from 'playwright-core';
import t from 'tap';
import { BROWSER_MISSING, firstPaintMs, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { axeFaults, overflowing } from '../support/live-page.ts';
import { NARROW } from '../support/page-looks.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

const options = { skip: BROWSER_MISSING };

/** Runs in a page of another origin: what it learns from the console of a tenant that is signed in. */
const STEALING = `async address => {
  const nameOf = error => error.name;
  const call = path => fetch(address + 'api/v1/' + path, { credentials: 'include' }).then(({ status }) => status, nameOf);
  const body = JSON.stringify({ email: 'thief@example.com', role: 'owner' });
  const change = fetch(address + 'api/v1/users', { method: 'POST', credentials: 'include', mode: 'cors', body });
  const opened = open(address);
  const frame = document.createElement('iframe');
  frame.src = address;
  const loaded = new Promise(resolve => frame.addEventListener('load', resolve));
  document.body.append(frame);
  await loaded;
  const read = look => { try { return String(look()); } catch (error) { return error.name; } };
  return {
    call: await call('me'),
    change: await change.then(({ status }) => status, nameOf),
    window: read(() => opened.sessionStorage.length),
    frame: read(() => frame.contentDocument),
  };
}`;
const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test('a program that asks for the address of a tenant gets a text with the paths', async t => {
  const answer = await fetch(`http://${service.http}/`);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.match(await answer.text(), '/api/v1/openapi.json');
  t.equal((await fetch(`http://${service.http}/`, { method: 'POST' })).status, 404);
  t.match(await (await fetch(`http://${service.http}/api/docs`)).text(), '/api/v1/openapi.json');
  t.match(await (await fetch(`http://${service.http}/errors/rate_limited`)).text(), /^rate_limited \(429\)/);
});

t.test('a tenant signs in with a token, and signs out', options, async t => {
  const tenant = await newTenant(service, 'signin');
  const { page, faults } = await browser.open(t, consoleAddress(service, 'signin'));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  t.equal(await page.title(), 'Sign in · Sluice');
  t.same(await axeFaults(page), []);
  await page.getByLabel('Token').fill('wkt_signin_x');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This is the token of a pull worker.').waitFor();
  await signIn(page, tenant);
  t.match(await page.title(), 'signin');
  t.notMatch(page.url(), tenant.token, 'the token is never in the address');
  const kept = 'JSON.stringify(localStorage) + document.cookie';
  t.notMatch(await page.evaluate(kept), tenant.token, 'the token is kept for the tab alone');
  await page.reload();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  t.equal(await page.getByRole('link', { name: 'API docs' }).getAttribute('href'), '/api/docs');
  t.same(await axeFaults(page), []);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  t.equal(await page.evaluate('sessionStorage.length'), 0);
  t.same(faults, []);
});

t.test(
  'an invalid token is refused, and one that ends while in use leads to the sign-in',
  options,
  async t => {
    const tenant = await newTenant(service, 'ends');
    const made = await tenant.ask('POST /users', { email: 'ann@example.com', role: 'viewer' });
    const token = await tenant.ask(`POST /users/${made.json.id}/tokens`, {});
    const { page, faults } = await browser.open(t, consoleAddress(service, 'ends'));
    await page.getByLabel('Token').fill(`${tenant.token}x`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The token is not valid for this account.').waitFor();
    await signIn(page, { token: token.json.token });
    await tenant.ask(`DELETE /users/${made.json.id}`);
    await page.getByText('The token is not valid for this account.').waitFor();
    t.same(await page.evaluate('sessionStorage.length'), 0);
    // Chromium reports each answer with status 401 in its console.
    t.ok(
      faults.every(fault => fault.includes('401')),
      faults.join('\n'),
    );
  },
);

t.test('a page of another origin gets neither the token nor an answer that needs it', options, async t => {
  const tenant = await newTenant(service, 'victim');
  const address = consoleAddress(service, 'victim');
  const { page } = await browser.open(t, address);
  await signIn(page, tenant);
  await newTenant(service, 'thief');
  const thief = await page.context().newPage();
  await thief.goto(consoleAddress(service, 'thief', 'healthcheck'));
  t.same(await thief.evaluate(`(${STEALING})(${JSON.stringify(address)})`), {
    call: 'TypeError',
    change: 'TypeError',
    window: 'SecurityError',
    frame: 'null',
  });
  const { json } = await tenant.ask('GET /users');
  t.equal(json.data.length, 1, 'nothing was changed');
});

t.test('the plain address of the service takes the tenant from the token', options, async t => {
  const tenant = await newTenant(service, 'plain');
  const { page, faults } = await browser.open(t, `http://${service.http}/`);
  await signIn(page, tenant);
  t.match(await page.title(), 'plain');
  t.same(faults, []);
});

t.test('the sign-in fits 360, 800 and 1280 pixels', options, async t => {
  const { page } = await browser.open(t, consoleAddress(service, 'signin'));
  for (const width of [360, 800, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.getByLabel('Token').waitFor();
    t.same(await overflowing(page), [], `${width} pixels`);
  }
});

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
  const { page, faults, pageBytes } = await browser.open(t, consoleAddress(service, 'signin', 'api/docs'));
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

t.test('the type of a problem leads a browser to its page, on the host of the tenant', options, async t => {
  const { status, type, title } = await (await fetch(`http://${service.http}/api/v1/tasks`)).json();
  t.equal(status, 404);
  const { page, faults } = await browser.open(t, consoleAddress(service, 'signin', type.slice(1)));
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
  t.equal(new URL(page.url()).pathname, '/api/docs/problems/tenant_not_found');
  t.same(faults, []);
});

// At other widths, and in the light: docs-looks.test.ts.
t.test('the documentation is accessible and fits, narrow and in the dark', options, async t => {
  const { page, faults } = await browser.open(t, consoleAddress(service, 'signin', 'api/docs'), {
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
    await page.goto(consoleAddress(service, 'signin', `api/docs${path}`));
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
