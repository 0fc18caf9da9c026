import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test('a user whose name could not be read is asked for again', { skip: BROWSER_MISSING }, async t => {
  const tenant = await newTenant(service, 'names');
  const { id } = await tenant.make('users', { email: 'ann@example.com', name: 'Ann', role: 'admin' });
  const { token } = await tenant.make(`users/${id}/tokens`, { name: 'laptop' });
  await tenant.withToken(token).make('workers', { name: 'crawler', mode: 'pull' });

  const { page } = await browser.open(t, consoleAddress(service, 'names'));
  const outage = { isOver: false };
  await page.route(`**/api/v1/users/${id}`, route =>
    outage.isOver ? route.continue() : route.fulfill({ status: 503, json: { code: 'unavailable' } }),
  );
  await signIn(page, tenant);
  const audit = page.getByRole('table', { name: 'Audit log' });
  const failed = page.waitForResponse(`**/api/v1/users/${id}`);
  await page.getByRole('link', { name: 'Audit' }).click();
  t.equal((await failed).status(), 503);
  await audit.getByText(id).first().waitFor();

  outage.isOver = true;
  await page.getByRole('link', { name: 'Schedules' }).click();
  await page.getByRole('link', { name: 'Audit' }).click();
  await audit.getByText('ann@example.com').first().waitFor();
});
