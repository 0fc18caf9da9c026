import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Child } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { repositoryRoot } from '../support/repository.ts';
import type { ServiceProcess } from '../support/service.ts';
import { ask, newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// The programs in `examples`, as a reader runs them.

const EXAMPLES = join(repositoryRoot(), 'build/examples');
/** Longest wait for an example to write a line or to end. */
const PATIENCE_MS = 60_000;

let service: ServiceProcess;
let tenant: Tenant;

t.before(async () => {
  service = await startTasksService(t);
  tenant = await newTenant(service);
});

type Environment = Readonly<Record<string, string>>;

/** Starts a program of the examples; the test ends it. */
function start(t: Test, program: string, args: readonly string[] = [], env: Environment = {}): Child {
  const child = new Child({
    command: process.execPath,
    args: [join(EXAMPLES, program), ...args],
    env: { SLUICE_URL: `http://${service.http}`, SLUICE_TOKEN: tenant.token, ...env },
  });
  t.teardown(() => child.end('SIGTERM', PATIENCE_MS));
  return child;
}

/** Runs a program to its end, which must be a success; what it wrote. */
async function run(
  t: Test,
  program: string,
  args: readonly string[] = [],
  env: Environment = {},
): Promise<string> {
  const child = start(t, program, args, env);
  t.match(await child.ended, { status: 0 }, child.output);
  return child.output;
}

const linesOf = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

t.test('mail sender: a verified delivery is one mail', async t => {
  const port = await freePort();
  const retry = { base: '100ms', factor: 1, jitter: 0, max_attempts: 3 };
  await tenant.make('workers', { name: 'mailer', url: `http://127.0.0.1:${port}/`, retry });
  const { value: old } = await tenant.make('workers/mailer/secrets', { type: 'signing' });
  const { value: fresh } = await tenant.make('workers/mailer/secrets', { type: 'signing' });
  const mailbox = join(tempDirectory(t), 'mailbox.jsonl');
  const env = { PORT: String(port), MAILBOX: mailbox, WEBHOOK_SECRET: `${fresh},${old}` };
  const receiver = start(t, 'mail-sender/receiver.js', [], env);
  await receiver.line(line => (line.startsWith('Waiting') ? line : undefined), PATIENCE_MS);
  const sent = await run(t, 'mail-sender/send.js', ['ann@example.com', 'Welcome', 'Hello Ann']);
  const id = /tsk_\w+/.exec(sent)?.[0] as string;
  await tenant.taskIn(id, 'succeeded');
  const mail = { id, to: 'ann@example.com', subject: 'Welcome', text: 'Hello Ann' };
  t.same(linesOf(mailbox), [mail]);

  t.match(await ask(`127.0.0.1:${port}`, 'POST /', { body: mail }), { status: 401 }, 'without a signature');
  const large = { ...mail, text: 'x'.repeat(4 * 1024 * 1024) };
  t.match(await ask(`127.0.0.1:${port}`, 'POST /', { body: large }), { status: 413 });
  const broken = connect(port, '127.0.0.1');
  broken.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{', () => broken.destroy());
  await once(broken, 'close');
  const { id: wrong } = await tenant.make('tasks', { worker: 'mailer', payload: { to: 'ann' } });
  t.match(await tenant.taskIn(wrong, 'failed'), { attempt: 1 }, 'what is no mail is not retried');
  await tenant.ask(`POST /tasks/${id}/retry`);
  await tenant.taskIn(id, 'succeeded');
  await receiver.end('SIGTERM', PATIENCE_MS);

  const again = start(t, 'mail-sender/receiver.js', [], env);
  await again.line(line => (line.startsWith('Waiting') ? line : undefined), PATIENCE_MS);
  await tenant.ask(`POST /tasks/${id}/retry`);
  await tenant.taskIn(id, 'succeeded');
  t.same(linesOf(mailbox), [mail], 'repeated deliveries send no second mail, also after a restart');
});

t.test('nightly report: a schedule in Berlin, with one report for each night', async t => {
  await tenant.make('workers', { name: 'reports', mode: 'pull' });
  const created = await run(t, 'nightly-report/schedule.js');
  const year = new Date().getUTCFullYear() + 1;
  t.match(
    created.trim().split('\n'),
    [
      new RegExp(`^${year}-03-\\d\\dT03:00:00\\+02:00 \\(${year}-03-\\d\\dT01:00:00.000Z\\): moved_by_dst$`),
      new RegExp(`^${year}-10-\\d\\dT02:30:00\\+02:00 \\(${year}-10-\\d\\dT00:30:00.000Z\\): first_of_two$`),
    ],
    'the nights in which the clocks change',
  );
  t.equal(await run(t, 'nightly-report/schedule.js'), created, 'it can be run again');
  const { json: schedule } = await tenant.ask('GET /schedules/nightly-report');
  t.match(schedule, { cron: '30 2 * * *', timezone: 'Europe/Berlin', catch_up: { window: '12h' } });

  const reports = join(tempDirectory(t), 'reports');
  start(t, 'nightly-report/worker.js', [], { REPORTS: reports });
  const { id } = await tenant.make('schedules/nightly-report/trigger', {});
  const { result } = await tenant.taskIn(id, 'succeeded');
  t.match(readFileSync(result.file, 'utf8'), /^Report of the night of \d{4}-\d\d-\d\d\n$/);
  t.match(readdirSync(reports), [/^report-\d{4}-\d\d-\d\d\.txt$/]);
});

t.test('resumable import: after a kill, another process continues', async t => {
  const retry = { base: '100ms', factor: 1, jitter: 0 };
  await tenant.make('workers', { name: 'importer', mode: 'pull', retry });
  const imported = join(tempDirectory(t), 'imported.jsonl');
  const env = { IMPORTED: imported };
  const first = start(t, 'resumable-import/worker.js', [], env);
  const rows = Array.from({ length: 8 }, (_, n) => `row ${n}`);
  const { id } = await tenant.make('tasks', { worker: 'importer', payload: { rows, pause_ms: 100 } });
  await first.line(line => (line.endsWith(': row 2') ? line : undefined), PATIENCE_MS);
  t.match(await first.end('SIGKILL', 0), { signal: 'SIGKILL' });
  const done = linesOf(imported).length;
  t.ok(done >= 3 && done < 8, `killed after ${done} rows`);

  const second = start(t, 'resumable-import/worker.js', [], env);
  t.match(await tenant.taskIn(id, 'succeeded'), { attempt: 2, result: { rows: 8 } });
  t.match(second.output, new RegExp(`${id}: attempt 2 begins with row ${done}\n`));
  t.same(
    linesOf(imported),
    rows.map(row => ({ task: id, row })),
    'each row once, in order',
  );
  const events = (await tenant.history(id)).map(({ event }) => event);
  t.ok(events.includes('lease_expired'), events.join());
});

/** What a worker of invoices printed: the largest number at the same time, of all customers and of one. */
function together(output: string): { readonly all: number; readonly ofOne: number } {
  const running = new Map<string, number>();
  let [all, ofOne] = [0, 0];
  for (const [, verb, customer] of output.matchAll(/^(begin|end) (\w+) \d+$/gm)) {
    running.set(customer, (running.get(customer) ?? 0) + (verb === 'begin' ? 1 : -1));
    ofOne = Math.max(ofOne, ...running.values());
    all = Math.max(
      all,
      [...running.values()].reduce((sum, count) => sum + count, 0),
    );
  }
  return { all, ofOne };
}

t.test('customer groups: one invoice of a customer at a time', async t => {
  await tenant.make('workers', { name: 'invoices', mode: 'pull', group_concurrency: 1 });
  const customers = ['ann', 'bob', 'cyd'];
  const work = async (): Promise<string> => {
    await run(t, 'customer-groups/create.js', customers);
    const worker = start(t, 'customer-groups/worker.js');
    let ends = 0;
    await worker.line(line => (line.startsWith('end ') && ++ends === 15 ? line : undefined), PATIENCE_MS);
    t.match(await worker.end('SIGTERM', PATIENCE_MS), { status: 0 });
    return worker.output;
  };
  t.match(together(await work()), { all: 3, ofOne: 1 }, 'other customers do not wait');
  await tenant.ask('PUT /workers/invoices', { group_concurrency: null });
  t.ok(together(await work()).ofOne > 1, 'without groups, invoices of a customer would run together');
});

t.test('every example has a page, and its programs are in a test', async t => {
  const folders = readdirSync(join(repositoryRoot(), 'examples'), { withFileTypes: true });
  const tests = ['examples', 'examples-budget'].map(file =>
    readFileSync(join(repositoryRoot(), `test/service/${file}.test.ts`), 'utf8'),
  );
  for (const { name } of folders.filter(entry => entry.isDirectory())) {
    const folder = join(repositoryRoot(), 'examples', name);
    t.ok(existsSync(join(folder, 'README.md')), name);
    for (const program of readdirSync(folder).filter(file => /\.(ts|py)$/.test(file)))
      t.ok(tests.join().includes(`${name}/${program.replace('.ts', '.js')}'`), `${name}/${program}`);
  }
});
