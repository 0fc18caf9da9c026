import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { axeFaults, overflowing } from '../support/live-page.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test('a program that asks for the address of a tenant gets a text with the paths', async t => {
  const answer = await fetch(`http://${service.http}/`);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.match(await answer.text(), '/api/v1/openapi.json');
  t.equal((await fetch(`http://${service.http}/`, { method: 'POST' })).status, 404);
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
  t.same(await axeFaults(page), []);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  t.equal(await page.evaluate('sessionStorage.length'), 0);
  t.same(faults, []);
});

t.test(
  'a token that is not valid is refused, and one that ends while in use leads to the sign-in',
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

t.test('the plain address of the service takes the tenant from the token', options, async t => {
  const tenant = await newTenant(service, 'plain');
  const { page, faults } = await browser.open(t, `http://${service.http}/`);
  await signIn(page, tenant);
  t.match(await page.title(), 'plain');
  t.same(faults, []);
});

for (const width of [360, 800, 1280]) {
  t.test(`the sign-in fits ${width} pixels`, options, async t => {
    const { page } = await browser.open(t, consoleAddress(service, 'signin'), {
      viewport: { width, height: 800 },
    });
    await page.getByLabel('Token').waitFor();
    t.same(await overflowing(page), []);
  });
}
