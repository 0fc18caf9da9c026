import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { BROWSER_MISSING, type PageFaults, TestBrowser } from '../support/browser.ts';
import { consoleAddress, signIn } from '../support/console.ts';
import { axeFaults, overflowing } from '../support/live-page.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { repositoryRoot } from '../support/repository.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

const SCREENSHOTS = join(repositoryRoot(), 'build/screenshots');
const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);
const service = await startTasksService(t);

/** The button of an open dialog. */
function inDialog(page: Page, name: string | RegExp) {
  return page.getByRole('dialog').getByRole('button', { name });
}

t.test('a tenant repairs a failing worker and its tasks by clicking', options, async t => {
  const receiver = await startPushWorker(t, reply(503, {}, 'upstream busy'));
  const tenant = await newTenant(service, 'life');
  const { page, faults } = await browser.open(t, consoleAddress(service, 'life'));
  await signIn(page, tenant);
  await page.getByText('There are no tasks yet').waitFor();
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'How busy is life?' }).waitFor();
  await page.getByText('Nothing has happened in this time').waitFor();

  await page.getByRole('link', { name: 'Workers' }).click();
  await page.getByRole('button', { name: 'New worker' }).click();
  await page.getByLabel('Name').fill('mailer');
  await page.getByLabel('URL').fill(receiver.url('/tasks'));
  await inDialog(page, 'Create this worker').click();
  await page.getByRole('heading', { name: 'Does mailer keep up?' }).waitFor();

  const task = await tenant.make('tasks', {
    worker: 'mailer',
    type: 'email.welcome',
    payload: { to: 'ann@example.com', number: 7 },
    retry: { max_attempts: 1 },
  });
  await page
    .getByRole('table', { name: 'Last errors' })
    .getByRole('link', { name: `task ${task.id}` })
    .click();
  await page.getByRole('heading', { name: 'Why did this task fail?' }).waitFor();
  await page.getByText('upstream busy').waitFor();
  t.match(await page.locator('.timeline').innerText(), /Created[\s\S]*Attempt 1 started[\s\S]*HTTP 503/);
  t.match(await page.getByRole('region', { name: 'Payload' }).innerText(), 'ann@example.com');

  receiver.answer = reply(200, { 'content-type': 'application/json' }, '{"sent":true}');
  await page.getByRole('link', { name: 'mailer' }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('A task with this answer has succeeded.').waitFor();

  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByRole('button', { name: /^failed/ }).click();
  await page.getByRole('button', { name: 'Retry…' }).click();
  await inDialog(page, 'Retry 1 task').click();
  await page.getByRole('dialog').getByText('Started again: 1 task.').waitFor();
  await inDialog(page, 'Done').click();
  await tenant.taskIn(task.id, 'succeeded');
  await page.getByText('No task matches').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: `task ${task.id}` }).click();
  t.match(await page.getByRole('region', { name: 'Result' }).innerText(), '"sent": true');

  await page.getByRole('link', { name: 'Schedules' }).click();
  await page.getByRole('button', { name: 'New schedule' }).click();
  await page.getByLabel('Name').fill('nightly');
  await page.getByLabel('Worker').fill('mailer');
  await page.getByLabel('Time zone').fill('Nowhere/Land');
  await page.getByRole('dialog').locator('.preview .fault').waitFor();
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByRole('dialog').getByText('03:00 Europe/Berlin').first().waitFor();
  await inDialog(page, 'Create this schedule').click();
  await page.getByRole('heading', { name: 'When does nightly run?' }).waitFor();
  await page.getByRole('button', { name: 'Trigger now' }).click();
  await inDialog(page, 'Trigger now').click();
  await page.getByRole('table', { name: 'Last tasks' }).getByText('succeeded').waitFor();

  await page.getByRole('link', { name: 'Workers' }).click();
  await page.getByRole('link', { name: 'mailer', exact: true }).click();
  for (const verb of ['Create this secret', 'Rotate this secret']) {
    await page.getByRole('button', { name: 'New or rotate…' }).click();
    await inDialog(page, verb).click();
    await page.getByRole('dialog').getByText('whsec_').waitFor();
    await inDialog(page, 'I have copied it').click();
  }
  await page.getByRole('region', { name: 'Secrets' }).getByText('expiring').waitFor();
  t.notMatch(await page.locator('body').innerText(), 'whsec_', 'the values are not shown again');
  t.same(otherFaults(faults), []);
});

t.test('a task that is retried and waits shows its error as well', options, async t => {
  const tenant = await newTenant(service, 'again');
  const worker = await tenant.make('workers', { name: 'puller', mode: 'pull' });
  const retry = { max_attempts: 3, base: '1s', jitter: 0 };
  const task = await tenant.make('tasks', { worker: 'puller', payload: {}, retry });
  const { value: token } = await tenant.make('workers/puller/secrets', { type: 'token' });
  const puller = tenant.withToken(token);
  const { leases } = await puller.make('workers/puller/leases', { max: 1 });
  const error = { code: 'no_photo', message: 'there is no photo 17' };
  await puller.make(`leases/${leases[0].lease_id}/fail`, { error, retry: true });
  await tenant.taskUntil(task.id, ({ waiting_for }) => waiting_for === 'pull_worker');
  const { page, faults } = await browser.open(t, consoleAddress(service, 'again'));
  await signIn(page, tenant);
  await page.getByRole('row', { name: 'no_photo: there is no photo 17 · waits: pull worker' }).waitFor();
  await page.getByRole('link', { name: `task ${task.id}` }).click();
  await page.getByRole('heading', { name: 'Why has this task not run again?' }).waitFor();
  const outcomes = await page.locator('.outcome').allInnerTexts();
  t.match(outcomes, [/^No program has asked for it since/, /^no_photo there is no photo 17/]);
  t.match(
    await page.locator('.timeline').innerText(),
    /Attempt 1 failed[\s\S]*next attempt due .* by worker puller/,
  );
  t.notMatch(await page.locator('.timeline').innerText(), worker.id);
  t.same(faults, []);
});

t.test('a viewer reads, and is offered nothing that the role does not allow', options, async t => {
  const tenant = await newTenant(service, 'roles');
  await tenant.make('workers', { name: 'puller', mode: 'pull' });
  const task = await tenant.make('tasks', { worker: 'puller', payload: { secret: 'for members' } });
  const { page, faults } = await browser.open(t, consoleAddress(service, 'roles', '?view=users'));
  await signIn(page, tenant);
  await page.getByRole('button', { name: 'New user' }).click();
  await page.getByLabel('Email').fill('vera@example.com');
  await page.getByLabel('Role', { exact: true }).selectOption('viewer');
  await inDialog(page, 'Create this user').click();
  await page.getByRole('button', { name: 'New token…' }).click();
  await inDialog(page, 'Create this token').click();
  const token = await page.getByRole('dialog', { name: 'Copy the token now' }).locator('code').innerText();
  await inDialog(page, 'I have copied it').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, { token });
  await page.goto(consoleAddress(service, 'roles', `?view=task&id=${task.id}`));
  await page.getByText('No program has asked for it since it became due.').waitFor();
  await page.getByText('Payloads are hidden from you').waitFor();
  t.notMatch(await page.locator('body').innerText(), 'for members');
  t.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
  t.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
  await page.goto(consoleAddress(service, 'roles', '?view=audit'));
  await page.getByText('your token does not allow this').waitFor();
  t.same(faults, []);
});

/** Faults except for answers that are not a success, which Chromium reports in its console. */
function otherFaults(faults: PageFaults): PageFaults {
  return faults.filter(fault => !/status of 4\d\d/.test(fault));
}

/** Would run if a page put it into its document as HTML or as an address. */
const HOSTILE = `"><img src=x onerror="window.ran=1"><script>window.ran=1</script>{{7*7}}`;

t.test('texts of users and of workers are shown and never run', options, async t => {
  const receiver = await startPushWorker(t, reply(500, { 'content-type': 'text/html' }, HOSTILE));
  const tenant = await newTenant(service, 'hostile');
  await tenant.make('workers', {
    name: 'hostile',
    url: receiver.url('/'),
    headers: { 'x-hostile': HOSTILE },
  });
  const task = await tenant.make('tasks', {
    worker: 'hostile',
    type: HOSTILE,
    tags: [HOSTILE.slice(0, 64)],
    group: HOSTILE,
    metadata: { note: HOSTILE },
    payload: { [HOSTILE]: HOSTILE },
    headers: { 'x-task': HOSTILE },
    retry: { max_attempts: 1 },
  });
  await tenant.taskIn(task.id, 'failed');
  await tenant.ask(`PUT /workers/hostile`, { paused: true, pause_reason: HOSTILE });
  const user = await tenant.make('users', { email: 'mallory@example.com', name: HOSTILE.slice(0, 100) });
  await tenant.make(`users/${user.id}/tokens`, { name: HOSTILE.slice(0, 100) });
  const schedule = await tenant.make('schedules', {
    name: 'odd',
    worker: 'hostile',
    every: '1d',
    task: { type: HOSTILE },
  });
  await tenant.ask(`PUT /schedules/${schedule.id}`, { paused: true, pause_reason: HOSTILE });
  const { page, faults } = await browser.open(t, consoleAddress(service, 'hostile'));
  await signIn(page, tenant);
  const views: readonly (readonly [string, string])[] = [
    ['?view=tasks', 'onerror'],
    [`?view=task&id=${task.id}`, '{{7*7}}'],
    ['?view=worker&id=hostile', 'onerror'],
    [`?view=schedule&id=${schedule.id}`, 'onerror'],
    [`?view=user&id=${user.id}`, 'onerror'],
    ['?view=audit', 'schedule.updated'],
    [`?view=${encodeURIComponent(HOSTILE)}`, 'There is no view'],
    [`?view=task&id=${encodeURIComponent(HOSTILE)}`, 'onerror'],
    [`?view=tasks&error=${encodeURIComponent(HOSTILE)}`, 'onerror'],
    [`?view=usage&worker=${encodeURIComponent(HOSTILE)}`, 'onerror'],
    [`?view=usage&range=${encodeURIComponent(HOSTILE)}`, 'How busy is hostile?'],
  ];
  for (const [query, shown] of views) {
    await page.goto(consoleAddress(service, 'hostile', query));
    await page.getByText(shown).first().waitFor();
    t.equal(await page.evaluate('window.ran'), undefined, query);
  }
  t.same(otherFaults(faults), []);
});

/** Begins at the usage of seven days, in which a task of `mailer` has failed. */
async function seesUsage(t: Test, page: Page, domain: string): Promise<void> {
  const figures = (title: string) => page.getByRole('region', { name: title, exact: true }).innerText();
  t.match(await figures('Attempts failed'), /\n1\n/);
  t.match(await figures('Tasks failed'), /\n1\n[\s\S]*0 of 1 succeeded/);
  t.match(await page.getByRole('region', { name: /^Limits/ }).innerText(), /Workers\n[\s\S]*2 of 100/);
  await page.getByRole('button', { name: 'Last hour' }).click();
  t.match(page.url(), 'range=1h');
  await page.getByText('Failures per minute').waitFor();
  await page.getByRole('button', { name: 'Show the figures as a table' }).nth(1).click();
  const table = page.getByRole('region', { name: 'Failures per minute, as a table' });
  t.equal(await table.getByRole('row').count(), 61);
  t.match(await table.innerText(), /Attempts failed\s+Tasks failed[\s\S]*\t1\t1\t0\t0/);
  await page.goBack();
  await page.getByText('Failures per hour').waitFor();
  t.match(page.url(), 'range=7d');
  await page.goto(consoleAddress(service, domain, '?view=worker&id=mailer'));
  await page.getByRole('link', { name: 'Show the last hour as plots' }).click();
  await page.getByRole('heading', { name: 'How busy is mailer?' }).waitFor();
  await page.getByRole('link', { name: 'Show all workers' }).click();
  await page.getByRole('heading', { name: `How busy is ${domain}?` }).waitFor();
}

t.test('all views are accessible and fit, at three widths and in both schemes', options, async t => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const receiver = await startPushWorker(t, reply(503, {}, 'upstream busy'));
  const tenant = await newTenant(service, 'looks');
  await tenant.make('workers', {
    name: 'a-worker-with-a-name-as-long-as-names-of-workers-can-be-63-c',
    mode: 'pull',
  });
  const worker = await tenant.make('workers', { name: 'mailer', url: receiver.url('/') });
  const task = await tenant.make('tasks', {
    worker: 'mailer',
    type: 'email.welcome.with-a-long-type',
    key: 'a-key/of-a-task:that-is-long',
    tags: ['welcome', 'urgent'],
    payload: { to: 'ann@example.com', text: 'a'.repeat(300) },
    retry: { max_attempts: 1 },
  });
  await tenant.taskIn(task.id, 'failed');
  const schedule = await tenant.make('schedules', {
    name: 'nightly',
    worker: 'mailer',
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
  });
  const { owner } = tenant.account;
  const views: Readonly<Record<string, string>> = {
    tasks: '?view=tasks',
    task: `?view=task&id=${task.id}`,
    workers: '?view=workers',
    worker: `?view=worker&id=${worker.id}`,
    schedules: '?view=schedules',
    schedule: `?view=schedule&id=${schedule.id}`,
    users: '?view=users',
    user: `?view=user&id=${owner.id}`,
    audit: '?view=audit',
    usage: '?view=usage&range=7d',
  };
  const { page, faults } = await browser.open(t, consoleAddress(service, 'looks'), {
    reducedMotion: 'reduce',
  });
  await signIn(page, tenant);
  for (const [name, query] of Object.entries(views)) {
    await page.goto(consoleAddress(service, 'looks', query));
    await page.locator('main .panel').first().waitFor();
    await until(async () => (await page.locator('.skeleton').count()) === 0);
    for (const width of [360, 800, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      t.same(await overflowing(page), [], `${name} at ${width}`);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({
          path: join(SCREENSHOTS, `console-${name}-${width}-${colorScheme}.png`),
          fullPage: true,
        });
        if (width !== 800) t.same(await axeFaults(page), [], `${name} at ${width}, ${colorScheme}`);
      }
    }
  }
  await until(async () => (await tenant.ask('GET /usage?range=7d')).json.totals.tasks_failed === 1);
  await page.reload();
  await seesUsage(t, page, 'looks');
  t.same(faults, []);
});
