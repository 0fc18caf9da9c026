import t, { type Test } from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { firstLook, lookAt } from '../support/page-looks.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';

const options = { skip: BROWSER_MISSING };
const FAILURE = { error: { code: 'broken', message: 'The site is gone.' } };
const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test('a tenant creates a task in the console, and sees by name who did', options, async t => {
  const tenant = await newTenant(service, 'making');
  await tenant.make('workers', { name: 'crawler', mode: 'pull' });
  const { page, dialog, create, faults } = await openForm(t, tenant, 'making');
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
  await dialog.getByLabel('Delay', { exact: true }).fill('2h');
  await dialog.getByLabel('Priority').selectOption('high');
  await dialog.getByText('Retries', { exact: true }).click();
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

t.test('a key that is taken, and faults of retries, are beside their fields', options, async t => {
  const tenant = await newTenant(service, 'keys');
  await tenant.make('workers', { name: 'crawler', mode: 'pull' });
  const first = await tenant.make('tasks', { worker: 'crawler', key: 'daily', delay: '1h', payload: 1 });
  const { page, dialog, create, faults } = await openForm(t, tenant, 'keys');

  await dialog.getByLabel('Worker').fill('crawler');
  await dialog.getByLabel('Payload').fill('2');
  await dialog.getByLabel('Key', { exact: true }).fill('daily');
  await create.click();
  await dialog.getByText(first.id).waitFor();
  t.equal(await dialog.getByLabel('Key', { exact: true }).getAttribute('aria-invalid'), 'true');
  t.match((await tenant.ask(`GET /tasks/${first.id}`)).json, { payload: 1, version: 1 });

  await dialog.getByLabel('Key', { exact: true }).fill('nightly');
  await dialog.getByText('Retries', { exact: true }).press('Enter');
  await dialog.getByLabel('First delay').fill('2 parsecs');
  await dialog.getByLabel('Delays', { exact: true }).fill('1s, soon');
  await create.click();
  for (const label of ['First delay', 'Delays']) {
    const field = dialog.getByLabel(label, { exact: true });
    await field.and(page.locator('[aria-invalid=true]')).waitFor();
  }
  t.equal(await dialog.getByLabel('Longest delay').getAttribute('aria-invalid'), 'false');

  await dialog.getByLabel('First delay').fill('2s');
  await dialog.getByLabel('Longest delay').fill('1m');
  await dialog.getByLabel('Factor').fill('1.5');
  await dialog.getByLabel('Jitter').fill('0.25');
  await dialog.getByLabel('Delays', { exact: true }).fill('1s, 1m');
  await dialog.getByLabel('Give up after').fill('2d');
  await lookAt(t, page, 'console-new-task-retries');
  await firstLook(page);
  await create.press('Enter');
  await page.getByText('Created').first().waitFor();
  const id = new URL(page.url()).searchParams.get('id');
  t.match((await tenant.ask(`GET /tasks/${id}`)).json, {
    key: 'nightly',
    retry: { base: '2s', max: '1m', factor: 1.5, jitter: 0.25, schedule: ['1s', '1m'], max_age: '2d' },
  });
  t.same(
    faults.filter(fault => !/status of (409|422)/.test(fault)),
    [],
  );
});

t.test('an open task with the key is replaced, or opened, on request', options, async t => {
  const tenant = await newTenant(service, 'conflicts');
  await tenant.make('workers', { name: 'crawler', mode: 'pull' });
  const { id } = await tenant.make('tasks', { worker: 'crawler', key: 'daily', delay: '1h', payload: 1 });
  const { page, dialog, create } = await openForm(t, tenant, 'conflicts');
  await dialog.getByLabel('Worker').fill('crawler');
  await dialog.getByLabel('Payload').fill('2');
  await dialog.getByLabel('Key', { exact: true }).fill('daily');
  await dialog.getByLabel('If an open task has the key').selectOption('Replace that task');
  await dialog.getByText('replaced').waitFor();
  await create.click();
  await page.waitForURL(url => url.searchParams.get('id') === id);
  t.equal((await tenant.ask(`GET /tasks/${id}`)).json.payload, 2);
});

t.test('commands have the numbers of the payload, and times that cannot be are refused', options, async t => {
  const tenant = await newTenant(service, 'exact');
  await tenant.make('workers', { name: 'crawler', mode: 'pull' });
  const { page, dialog, create, faults } = await openForm(t, tenant, 'exact');
  await dialog.getByLabel('Worker').fill('crawler');
  await dialog.getByLabel('Payload').fill('{"page": 12345678901234567890}');
  await dialog.getByText('Do the same on the command line').click();
  await dialog.getByText(/^curl .*"payload":\{"page": 12345678901234567890\}/s).waitFor();

  await dialog.getByRole('button', { name: 'At a time' }).click();
  await dialog.getByLabel('Run at').fill('12026-01-01T00:00');
  await dialog.getByText('This is not a time.').waitFor();
  t.ok(await create.isDisabled());
  await dialog.getByLabel('Run at').fill(inAnHour());
  await create.click();

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Run at').fill('12026-01-01T00:00');
  await dialog.getByText('This is not a time.').waitFor();
  t.same(faults, []);
});

t.test('the list of workers shows how many of their tasks ended', options, async t => {
  const tenant = await newTenant(service, 'curves');
  await tenant.make('workers', { name: 'crawler', mode: 'pull', retry: { max_attempts: 1 } });
  await tenant.make('workers', { name: 'idle', mode: 'pull' });
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await tenant.make('tasks', { worker: 'crawler' })).id);
  const { leases } = await tenant.make('workers/crawler/leases', { max: 3 });
  for (const [i, { lease_id }] of leases.entries()) {
    await tenant.ask(`POST /leases/${lease_id}/${i === 0 ? 'fail' : 'complete'}`, i === 0 ? FAILURE : {});
  }
  const { page, faults } = await browser.open(t, consoleAddress(service, 'curves'), {
    reducedMotion: 'reduce',
  });
  await firstLook(page);
  await signIn(page, tenant);
  await page.getByRole('link', { name: 'Workers' }).click();
  const row = page.getByRole('row').filter({ hasText: 'crawler' });
  await row.getByRole('img', { name: /^Ended per minute: .* at most [123]$/ }).waitFor();
  await row.getByRole('link', { name: '1 failed tasks of crawler' }).waitFor();
  await lookAt(t, page, 'console-workers');
  t.same(faults, []);
});

/** A time as somebody in the zone of the browser types it, which is that of this process. */
function inAnHour(): string {
  const time = new Date(Date.now() + 3_600_000);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Signs in, and opens the form for a new task. */
async function openForm(t: Test, tenant: Tenant, domain: string) {
  const { page, faults } = await browser.open(t, consoleAddress(service, domain), {
    reducedMotion: 'reduce',
  });
  await firstLook(page);
  await signIn(page, tenant);
  await page.getByRole('button', { name: 'New task' }).click();
  const dialog = page.getByRole('dialog');
  return { page, faults, dialog, create: dialog.getByRole('button', { name: 'Create this task' }) };
}
