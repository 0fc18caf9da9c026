import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { firstLook, lookAt } from '../support/page-looks.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test('a tenant creates a task in the console, and sees by name who did', options, async t => {
  const tenant = await newTenant(service, 'making');
  await tenant.make('workers', { name: 'crawler', mode: 'pull' });
  const { page, faults } = await browser.open(t, consoleAddress(service, 'making'), {
    reducedMotion: 'reduce',
  });
  await firstLook(page);
  await signIn(page, tenant);
  await page.getByRole('button', { name: 'New task' }).click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create this task' });
  t.ok(await create.isDisabled());

  await dialog.getByLabel('Worker').fill('crawl');
  await dialog.getByLabel('Payload').fill('{"page": 12345678901234567890');
  await dialog.getByText('This is not JSON.').waitFor();
  t.ok(await create.isDisabled());
  await dialog.getByLabel('Payload').fill('{"page": 12345678901234567890}');
  await create.click();
  await dialog.getByText('does not exist').waitFor();
  t.equal(
    await dialog.getByLabel('Worker').getAttribute('aria-invalid'),
    'true',
    'the fault is beside its field',
  );

  await dialog.getByLabel('Worker').fill('crawler');
  await dialog.getByRole('button', { name: 'After a delay' }).click();
  await dialog.getByLabel('Delay').fill('2h');
  await dialog.getByLabel('Priority').selectOption('high');
  await dialog.getByLabel('Maximum number of attempts').fill('3');
  await lookAt(t, page, 'console-new-task');
  await firstLook(page);
  await create.press('Enter');
  await page.getByText('Created').first().waitFor();
  t.match(await page.getByRole('region', { name: 'Payload' }).innerText(), '12345678901234567890');
  const { data } = (await tenant.ask('GET /tasks')).json;
  t.match(data, [{ worker: 'crawler', priority: 'high', max_attempts: 3, status: 'scheduled' }]);
  const { email } = (await tenant.ask('GET /me')).json.user;
  await page.locator('.timeline').getByText(`by ${email}`).waitFor();

  await page.getByRole('link', { name: 'Audit' }).click();
  await page.getByRole('table', { name: 'Audit log' }).getByText(email).first().waitFor();
  await page.getByRole('link', { name: 'Workers' }).click();
  await page.getByRole('img', { name: /^Ended per minute: from 0 to 0/ }).waitFor();
  t.same(
    faults.filter(fault => !/status of 422/.test(fault)),
    [],
  );
});
