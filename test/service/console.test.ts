import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { axeFaults, overflowing } from '../support/live-page.ts';
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

t.test('the type of a problem leads a browser to its page, on the host of the tenant', options, async t => {
  const { status, type, title } = await (await fetch(`http://${service.http}/api/v1/tasks`)).json();
  t.equal(status, 404);
  const { page, faults } = await browser.open(t, consoleAddress(service, 'signin', type.slice(1)));
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
  t.equal(new URL(page.url()).pathname, '/api/docs/problems/tenant_not_found');
  t.same(faults, []);
});
