import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type PushAnswer, PushWorker, reply } from '../support/push-workers.ts';
import { type ServiceProcess, startService } from '../support/service.ts';
import { MASTER_KEY, Tenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { makeTempDirectory, removeDirectory, tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { type Run, runIn, runWith } from '../unit/cli/run.ts';

// `sluice tasks` against a service as users have it. What goes wrong between the two is in test/unit/cli/tasks.test.ts.

const OPERATOR = 'operator-of-this-test';
const PAYLOAD = 'for the worker alone';

let service: ServiceProcess;
let worker: PushWorker;
/** Of the tenant `acme`. */
let env: Record<string, string>;
let acme: Tenant;
const data = makeTempDirectory();

t.before(async () => {
  const settings = tasksEnv(t, {
    TASKS_DATA_DIRECTORY: data,
    ACCOUNTS_SIGNUP: 'operator',
    ACCOUNTS_OPERATOR_TOKEN: OPERATOR,
    LOG_LEVEL: 'debug',
    TASKS_LIMIT_DOMAINS: 'mail',
  });
  service = await startService({ env: settings });
  worker = new PushWorker(reply(200));
  await worker.start();
});
/** As the tenant `acme`. */
function tasks(...argv: string[]): Promise<Run> {
  return runIn(env, 'tasks', ...argv);
}

/** What it printed, when it was done. */
async function done(...argv: string[]): Promise<string> {
  const { status, stdout, stderr } = await tasks(...argv);
  if (status !== 0) throw new Error(`sluice tasks ${argv.join(' ')}: status ${status}\n${stderr}`);
  return stdout;
}

async function json(...argv: string[]) {
  return JSON.parse(await done(...argv, '--json'));
}

const ID = /tsk_\w{26}/;

/** The id of a new task. */
async function create(...argv: string[]): Promise<string> {
  return ID.exec(await done('create', ...argv))![0];
}

function variables(exports: string): Record<string, string> {
  return Object.fromEntries(
    [...exports.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]),
  );
}

function accounts(token: string, ...argv: string[]): Promise<Run> {
  const at = `http://localhost:${service.http.split(':')[1]}`;
  return runIn({ ACCOUNTS_OPERATOR_TOKEN: token }, 'tasks', 'create-account', '--service', at, ...argv);
}

t.test('create-account makes a tenant and shows its token once', async t => {
  const made = await accounts(OPERATOR, 'acme', '--export');
  t.match(made, { status: 0, stderr: '' });
  env = variables(made.stdout);
  t.match(env, { SLUICE_URL: /^http:\/\/acme\.localhost:\d+$/, SLUICE_TOKEN: /^tk_acme_/ });
  t.equal(made.stdout.trim().split('\n').length, 2, 'nothing else goes into eval');
  acme = new Tenant(service.http, { api_url: env['SLUICE_URL'] }, env['SLUICE_TOKEN']);

  const other = await accounts(OPERATOR, 'Other');
  t.match(
    other.stdout,
    /^other is at http:\/\/other\.localhost:\d+\. The token of its owner is shown only once:/,
  );
  t.match(variables(other.stdout), { SLUICE_TOKEN: /^tk_other_/ });
  const { stdout } = await accounts(OPERATOR, 'third', '--json');
  t.match(JSON.parse(stdout), { domain: 'third', status: 'active', token: /^tk_third_/ });
});

t.test('what is wrong with an account is said in one line', async t => {
  const taken = await accounts(OPERATOR, 'acme');
  t.match(taken, { status: 2, stdout: '', stderr: /^sluice tasks: .*acme.*\(domain_taken\)\n$/ });
  t.match((await accounts(OPERATOR, 'a--b')).stderr, /^sluice tasks: .*\(invalid_domain\)\n$/);
  for (const token of ['', 'letmein-letmein-letmein']) {
    const { status, stderr } = await accounts(token, 'fourth');
    t.equal(status, 2);
    t.match(stderr, token === '' ? /\(authentication_required\)/ : /\(invalid_token\)/);
    t.notMatch(stderr, /letmein/);
  }
});

t.test('add-worker makes workers that are pushed to, and workers that pull', async t => {
  const url = worker.url();
  const more = ['--concurrency', '7', '--timeout', '90s'];
  t.match(
    await done('add-worker', 'mailer', '--push-to', url, ...more),
    /^wrk_\w{26} {2}mailer {2}push to http:/,
  );
  t.match((await acme.ask('GET /workers/mailer')).json, {
    mode: 'push',
    url,
    concurrency: 7,
    timeout: '90s',
  });
  t.match(await done('add-worker', 'reports'), /^wrk_\w{26} {2}reports {2}pull\n$/);

  const told = await json('add-worker', 'told', '--on-finish', 'reports', '--events', 'failed,expired');
  t.match(told.on_finish, { worker: /^wrk_/, events: ['failed', 'expired'] });
  const signing = await done('add-worker', 'signed', '--push-to', url, '--secret');
  t.match(signing, /Its signing secret, shown only once: whsec_\S+\n$/);
  const token = /Its token, shown only once: (wkt_\S+)\n$/.exec(
    await done('add-worker', 'puller', '--secret'),
  );
  const leased = await acme.ask('POST /workers/puller/leases', {}, { authorization: `Bearer ${token?.[1]}` });
  t.match(leased, { status: 200, json: { leases: [] } }, 'the token is good for its worker');
  t.match(await json('add-worker', 'other', '--push-to', url, '--secret'), {
    name: 'other',
    secret: { type: 'signing', value: /^whsec_/ },
  });
  t.match(await done('add-worker', 'pull2', '--export'), /^export WORKER_TOKEN=wkt_\S+\n$/);

  t.match(
    (await tasks('add-worker', 'limited', '--limit', 'edge:upstream=billing')).stderr,
    /TASKS_LIMIT_DOMAINS/,
  );
  const limited = await json('add-worker', 'limited', '--limit', 'mail:upstream=a=b,region=eu');
  t.same(limited.limit, {
    domain: 'mail',
    descriptor: [
      { key: 'upstream', value: 'a=b' },
      { key: 'region', value: 'eu' },
    ],
  });

  const table = await done('workers');
  t.match(table, /^NAME +MODE +STATE +ID +URL\n/);
  t.match(table, /^reports +pull +serving +wrk_\w{26}$/m);
  t.match(table, new RegExp(`^mailer +push +serving +wrk_\\w{26} +${url}$`, 'm'));
  await acme.ask('PUT /workers/pull2', { paused: true });
  t.match(await done('workers'), /^pull2 +pull +paused/m);
  t.same((await json('workers')).map(({ name }: { name: string }) => name).sort(), [
    'limited',
    'mailer',
    'other',
    'pull2',
    'puller',
    'reports',
    'signed',
    'told',
  ]);
});

t.test('a rejected worker is reported with its fields', async t => {
  t.match(await tasks('add-worker', 'mailer'), {
    status: 2,
    stderr: /Another worker has the name.*\(name_taken\)\n$/,
  });
  const { stderr } = await tasks('add-worker', 'Bad Name', '--timeout', '1ns');
  t.match(stderr, /^sluice tasks: \/name .*\(validation_failed\)/);
  t.match(await tasks('add-worker', 'far', '--push-to', 'http://10.0.0.1/'), {
    stderr: /\(forbidden_address\)\n$/,
  });
});

t.test('create takes every field that it has a flag for', async t => {
  const file = join(tempDirectory(t), 'payload.json');
  writeFileSync(file, `{"report": "${PAYLOAD}"}`);
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const flags = ['--type', 'report.daily', '--priority', 'low', '--run-at', at, '--key', 'daily/1'];
  const printed = await done('create', 'reports', '--payload', `@${file}`, ...flags);
  t.match(printed, new RegExp(`^tsk_\\w{26} {2}scheduled {2}${at}\n$`));
  const grouped = ['--group', 'customer-7', '--tags', 'urgent,eu', '--delay', '1h', '--expires-in', '2h'];
  t.match(await json('create', 'reports', ...grouped), {
    group: 'customer-7',
    tags: ['urgent', 'eu'],
    expires_at: /Z$/,
  });
  t.match(await tasks('create', 'reports', '--key', 'daily/1', '--on-conflict', 'reject'), {
    status: 2,
    stderr: /\(task_key_exists\)\n$/,
  });
  const id = ID.exec(printed)![0];
  t.match((await acme.ask(`GET /tasks/${id}`)).json, {
    ...{ worker: 'reports', type: 'report.daily', priority: 'low', run_at: at, key: 'daily/1' },
    payload: { report: PAYLOAD },
  });
  const again = await done('create', 'reports', '--key', 'daily/1');
  t.match(again, new RegExp(`^${id} .*\\(existing task with this key\\)\n$`));
  const later = await json('create', 'reports', '--payload', '"text"', '--delay', '1h30m');
  t.equal(Date.parse(later.run_at) - Date.parse(later.created_at) > 5_300_000, true, later.run_at);
});

t.test('tasks have a group, by which they are listed and canceled', async t => {
  await done('add-worker', 'grouped', '--group-concurrency', '1', '--group-order', 'fifo');
  const rules = { group_concurrency: 1, group_order: 'fifo' };
  t.match((await acme.ask('GET /workers/grouped')).json, rules);
  const ids: string[] = [];
  for (const group of ['a', 'a', 'b']) ids.push((await json('create', 'grouped', '--group', group)).id);
  const listed = await json('list', '--group', 'a');
  t.strictSame(
    listed.map(({ id, waiting_for }: Record<string, unknown>) => [id, waiting_for]),
    [
      [ids[1], 'group'],
      [ids[0], 'pull_worker'],
    ],
  );
  t.match(await done('list', '--group', 'a'), new RegExp(`${ids[1]} .* group`));
  await done('cancel', '--group', 'a', '--yes');
  t.match((await acme.ask(`GET /tasks/${ids[1]}`)).json, { status: 'canceled' });
  t.match((await acme.ask(`GET /tasks/${ids[2]}`)).json, { status: 'scheduled', group: 'b' });
  await done('schedules', 'create', 'groups', 'grouped', '--every', '1d', '--group', 'c');
  t.match((await acme.ask('GET /schedules/groups')).json.task, { group: 'c' });
  await done('schedules', 'delete', 'groups');
});

t.test('tasks, tests and schedules take the bytes of a file in place of JSON', async t => {
  const bytes = Buffer.from([0, 255, 10, 128]);
  const base64 = bytes.toString('base64');
  const file = join(tempDirectory(t), 'picture.png');
  writeFileSync(file, bytes);
  const flags = ['--payload-base64', `@${file}`, '--content-type', 'image/png'];
  const shown = { payload: null, payload_base64: base64, content_type: 'image/png' };
  const { id } = await json('create', 'reports', ...flags);
  t.match((await acme.ask(`GET /tasks/${id}`)).json, shown);
  worker.answer = reply(200);
  const sent = await done('workers', 'test', 'signed', '--payload-base64', base64);
  t.strictSame(worker.requests.at(-1)!.bytes, bytes);
  t.match(sent, `> content-type: application/octet-stream\n`);
  t.match(sent, `\n> (base64) ${base64}\n`);
  await done('schedules', 'create', 'pictures', 'reports', '--every', '1d', ...flags);
  t.match((await acme.ask('GET /schedules/pictures')).json.task, shown);
  await done('schedules', 'delete', 'pictures');
  t.match(await tasks('create', 'reports', '--payload-base64', '@/none/such'), {
    stderr: /ENOENT.*\/none\/such/,
  });
});

t.test('a rejected task is reported with its fields, each once', async t => {
  t.match(await tasks('create', 'nobody'), {
    status: 2,
    stdout: '',
    stderr: 'sluice tasks: /worker does not exist: "nobody" (validation_failed)\n',
  });
  const { stderr } = await tasks(
    'create',
    'reports',
    '--delay',
    'soon',
    '--key',
    'a b',
    '--priority',
    'urgent',
  );
  for (const text of ['/key', '/priority', 'critical, high, normal, low, bulk']) t.match(stderr, text);
  for (const pointer of ['/key', '/priority'])
    t.equal(stderr.split(`${pointer} `).length, 2, `${pointer} once`);
  t.match(await tasks('create', 'reports', '--delay', '1s', '--run-at', '2030-01-01T00:00:00Z'), {
    stderr:
      'sluice tasks: /run_at and /delay exclude each other. Give only one of them. (conflicting_fields)\n',
  });
  t.match(await tasks('create', 'reports', '--payload', '{to: 1}'), {
    status: 2,
    stderr: /^sluice tasks: --payload is not valid JSON: .*A string needs quotes: '"text"'\.\n/,
  });
  t.match(await tasks('create', 'reports', '--payload', '@/none/such'), { stderr: /ENOENT.*\/none\/such/ });
});

t.test('list pages on, and filters', async t => {
  const runAt = new Date(Date.now() + 86_400_000).toISOString();
  const batch = Array.from({ length: 450 }, () => ({ worker: 'puller', run_at: runAt }));
  await acme.make('tasks/batch', { tasks: batch });
  const worker = ['--worker', 'puller'];
  const all = await json('list', ...worker, '--limit', '1000');
  t.equal(new Set(all.map(({ id }: { id: string }) => id)).size, 450, 'three pages, each task once');
  t.equal((await json('list', ...worker)).length, 50, 'the newest, where nobody says how many');
  t.same(await json('list', ...worker, '--limit', '203'), all.slice(0, 203));
  t.same(await json('list', ...worker, '--status', 'failed,retry'), []);
  t.equal((await json('list', ...worker, '--status', 'scheduled', '--limit', '449')).length, 449);
  t.same(await json('list', ...worker, '--end', '2020'), []);
  t.equal((await json('list', ...worker, '--start', '-1h', '--limit', '3')).length, 3);
  const [head, row, ...rest] = (await done('list', ...worker, '--limit', '2')).trimEnd().split('\n');
  t.match(head, /^ID +STATUS +WORKER +TYPE +ATTEMPT +NEXT ATTEMPT +WAITING FOR +LAST ERROR$/);
  const readable = runAt.replace('T', ' ').replace(/\.\d+/, '');
  t.match(row, new RegExp(`^${all[0].id} +scheduled +puller +0/12 +${readable}$`));
  t.equal(rest.length, 1);
  t.match(await tasks('list', '--worker', 'nobody'), { status: 2, stderr: /no worker "nobody"/ });
  t.match(await tasks('list', '--status', 'done'), {
    status: 2,
    stderr: /scheduled.*succeeded.*\(invalid_status\)/,
  });
  t.match(await tasks('list', '--start', 'soon'), { status: 2, stderr: /start/ });
});

t.test('workers test shows what was sent and answered, and hides secrets', async t => {
  worker.answer = reply(200, { 'content-type': 'application/json' }, '{"done":true}');
  const secret = { type: 'header', name: 'x-api-key', value: 'top-secret' };
  await acme.ask('POST /workers/signed/secrets', secret);
  const sent = await done('workers', 'test', 'signed', '--payload', '{"to":"ada"}');
  const request = worker.requests.at(-1)!;
  t.match(request, { line: 'POST /tasks HTTP/1.1', body: '{"to":"ada"}' });
  t.match(Object.fromEntries(request.fields), { 'task-test': 'true', 'x-api-key': 'top-secret' });
  for (const [name, value] of request.fields) {
    t.ok(sent.includes(`> ${name}: ${name === 'x-api-key' ? '[hidden]' : value}\n`), name);
  }
  t.match(sent, /^> POST http:.*\n/);
  t.match(sent, /\n> \{"to":"ada"\}\n\n< 200\n< \{"done":true\}\n\nsucceeded after \d+ ms\n$/);
  worker.answer = reply(500, {}, 'broken');
  const failed = await tasks('workers', 'test', 'signed');
  t.match(failed, {
    status: 1,
    stdout: /\n< 500\n< broken\n\nattempt_failed after .*\n500 from worker \(http_5xx\)\n$/,
  });
  t.match(await tasks('workers', 'test', 'puller'), { status: 2, stderr: /\(worker_mode_mismatch\)\n$/ });
  t.notMatch(service.output, /top-secret/);
});

t.test('schedules are created, listed, shown, paused, triggered and deleted', async t => {
  t.equal(await done('schedules'), 'There are no schedules. "sluice tasks schedules create" creates one.\n');
  const night = ['--cron', '30 2 * * *', '--timezone', 'Europe/Berlin', '--payload', '{"n":1}'];
  t.match(
    await done('schedules', 'create', 'nightly', 'reports', ...night, '--max-runs', '9', '--jitter', '5m'),
    /^sch_\w{26} {2}nightly {2}next run \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\n$/,
  );
  await done('schedules', 'create', 'hourly', 'reports', '--every', '1h', '--paused');
  const table = await done('schedules', 'list');
  t.match(table, /^NAME +WORKER +WHEN +STATE +NEXT RUN +LAST RUN\n/);
  t.match(table, /^nightly +reports +30 2 \* \* \* Europe\/Berlin +active +\d{4}-\S+ \S+Z$/m);
  t.match(table, /^hourly +reports +every 1h +paused$/m);
  const shown = await done('schedules', 'show', 'nightly');
  t.match(shown, /^max_runs +9$/m);
  t.match(shown, /^jitter +5m$/m);
  t.match(await json('schedules', 'show', 'nightly'), { runs_left: 9, task: { payload: { n: 1 } } });
  t.equal(await done('schedules', 'pause', 'nightly'), 'nightly paused\n');
  t.match(await json('schedules', 'show', 'nightly'), { paused: true });
  t.equal(await done('schedules', 'resume', 'nightly'), 'nightly resumed\n');
  t.match(await done('schedules', 'trigger', 'nightly'), /^tsk_\w{26} {2}scheduled\n$/);
  t.equal(await done('schedules', 'delete', 'hourly'), 'hourly deleted; its tasks are kept\n');
  t.match(await tasks('schedules', 'show', 'hourly'), { status: 2, stderr: /\(not_found\)\n$/ });
});

t.test('schedules update changes what the flags say, and leaves the rest', async t => {
  await done(
    'schedules',
    'create',
    'weekly',
    'reports',
    '--cron',
    '@weekly',
    '--payload',
    '{"n":1}',
    '--paused',
  );
  const change = ['--cron', '45 3 * * *', '--priority', 'low', '--tags', 'night', '--expires-in', '2h'];
  t.equal(await done('schedules', 'update', 'weekly', ...change), 'weekly changed\n');
  t.match(await json('schedules', 'show', 'weekly'), {
    ...{ cron: '45 3 * * *', worker: 'reports', paused: true },
    task: { payload: { n: 1 }, priority: 'low', tags: ['night'], expires_in: '2h' },
  });
  await done('schedules', 'update', 'weekly', '--worker', 'mailer', '--every', '90m', '--group', 'g');
  t.match(await json('schedules', 'show', 'weekly'), {
    ...{ cron: null, every: '90m', worker: 'mailer' },
    task: { group: 'g', priority: 'low' },
  });
  await done('schedules', 'delete', 'weekly');
});

t.test('schedules preview shows the times of a schedule, stored or not', async t => {
  const berlin = ['--cron', '30 2 * * *', '--timezone', 'Europe/Berlin', '--from', '2026-03-29T00:00:00Z'];
  t.match(
    await done('schedules', 'preview', ...berlin, '--count', '2'),
    new RegExp(
      '^LOCAL TIME +UTC +NOTE\\n2026-03-29 03:00:00\\+02:00 +2026-03-29 01:00:00Z +moved_by_dst\\n' +
        '2026-03-30 02:30:00\\+02:00 +2026-03-30 00:30:00Z\\n$',
    ),
  );
  const stored = await json('schedules', 'preview', 'nightly', '--from', '2026-03-29T00:00:00Z');
  t.match(stored, { timezone: 'Europe/Berlin', times: [{ note: 'moved_by_dst' }] });
  t.equal(stored.times.length, 10);
  const changed = await json('schedules', 'preview', 'nightly', '--every', '1h', '--count', '3');
  t.equal(changed.times.length, 3);
});

t.test('create --push-to pushes a task to a URL of its own', async t => {
  t.match(await done('add-worker', 'direct', '--task-urls'), /push to the URLs of its tasks\n$/);
  worker.answer = reply(200);
  const before = worker.requests.length;
  await create('direct', '--push-to', worker.url('/own?a=b'), '--payload', '{}');
  await worker.received(before + 1);
  t.match(worker.requests[before], { line: 'POST /own?a=b HTTP/1.1', body: '{}' });
  t.match(await tasks('create', 'direct'), { status: 2, stderr: /\/url is required.*\(validation_failed\)/ });
});

t.test('show prints a task whole', async t => {
  const id = await create('reports', '--payload', '{"n":1}', '--type', 'a.b');
  const shown = await done('show', id);
  t.match(shown, new RegExp(`^id +${id}$`, 'm'));
  t.match(shown, /^type +a\.b$/m);
  t.match(shown, /^payload +\{"n":1\}$/m);
  t.match(await json('show', id), { id, payload: { n: 1 } });
  const none = 'tsk_00000000000000000000000000';
  for (const what of ['show', 'history']) {
    t.match(await tasks(what, none), { status: 2, stdout: '', stderr: /\(not_found\)\n$/ });
  }
});

t.test('history --follow goes on until the task has ended', async t => {
  const asked = Promise.withResolvers<() => void>();
  const busy: PushAnswer = reply(503, {}, 'busy');
  worker.answer = (socket, request) => asked.resolve(() => busy(socket, request));
  const id = await create('mailer', '--payload', '{}');
  const answer = await asked.promise;
  t.match(
    await done('history', id),
    /^\S+Z {2}created +→ scheduled[^\n]*\n\S+Z {2}started +scheduled → running[^\n]*\n$/,
  );
  const following = done('history', id, '--follow');
  worker.answer = reply(200);
  answer();
  await acme.taskIn(id, 'retry');
  t.match(
    (await tasks('retry', id)).stdout,
    /^0 of 1 task will run again\n {2}skipped tsk_\w+: its status does not allow this \(invalid_transition\)\n$/,
  );
  await acme.ask(`POST /tasks/${id}/run`);
  const followed = await following;
  t.match(
    followed,
    /attempt_failed +running → retry {2}attempt 1 .* HTTP 503 in \d+ ms {2}http_5xx: .* next \S+Z\n/,
  );
  t.match(followed, /succeeded +running → succeeded .*\n$/);
  t.equal(await done('history', id, '--follow'), followed, 'one that has ended is told at once');
  const lines = (await done('history', '--newest', '--json')).trimEnd().split('\n');
  t.same(
    lines.map(line => JSON.parse(line).seq),
    [1, 2, 3, 4, 5, 6].slice(0, lines.length),
  );
  t.equal(JSON.parse(lines.at(-1)!).to, 'succeeded');
});

t.test('retry and cancel take tasks by name, and say which they left', async t => {
  const id = await create('reports');
  const other = await create('reports', '--delay', '1h');
  t.match(await tasks('cancel', id, other), { status: 0, stdout: '2 of 2 tasks canceled\n' });
  const again = await tasks('cancel', id, 'tsk_x');
  t.match(again, { status: 1, stdout: /^0 of 2 tasks canceled\n/ });
  t.match(again.stdout, /^ {2}skipped tsk_x: there is no such task \(not_found\)$/m);
  t.match(again.stdout, new RegExp(`^ {2}skipped ${id}: unchanged$`, 'm'));
  t.match(await tasks('retry', '--dry-run', id, 'tsk_x'), {
    status: 1,
    stdout: '1 of 2 tasks would run again\n  skipped tsk_x: there is no such task (not_found)\n',
  });
  t.equal((await json('show', id)).status, 'canceled', 'a dry run changes nothing');
  t.match(await tasks('retry', id), { status: 0, stdout: '1 of 1 task will run again\n' });
  t.match(await json('show', id), { status: 'scheduled', attempt: 0 });
});

t.test('retry --failed starts again what failed, within the filters', async t => {
  worker.answer = reply(500, { 'task-no-retry': 'true' });
  const [mailed] = await Promise.all([create('mailer'), create('other')]);
  const failed = () => json('list', '--status', 'failed');
  await until(async () => (await failed()).length >= 2);
  const dry = ['retry', '--failed', '--dry-run'];
  t.equal(await done(...dry), '2 of 2 tasks would run again\n');
  t.equal(await done(...dry, '--worker', 'mailer'), '1 of 1 task would run again\n');
  t.equal(await done(...dry, '--end', '2020'), '0 of 0 tasks would run again\n');
  t.equal(await done(...dry, '--start', '-1h'), '2 of 2 tasks would run again\n');
  t.equal((await failed()).length, 2);
  worker.answer = reply(200);
  t.match(await json('retry', '--failed', '--worker', 'mailer'), { matched: 1, changed: 1, skipped: [] });
  await acme.taskIn(mailed, 'succeeded');
  t.match(await done('list', '--status', 'failed'), /^tsk_\w+ +failed +other +1\/12 +http_5xx$/m);
});

t.test('pause, resume and cancel take the filters of list, and --dry-run only counts', async t => {
  const type = ['--type', 'by-filter'];
  const ids = [
    await create('reports', ...type, '--delay', '1h'),
    await create('reports', ...type, '--delay', '3h'),
  ];
  const until = [
    '--worker',
    'reports',
    '--by',
    'run_at',
    '--end',
    new Date(Date.now() + 7_200_000).toISOString(),
  ];
  const statuses = async () => (await json('list', ...type)).map((task: { status: string }) => task.status);
  t.equal(await done('pause', ...type, '--dry-run'), '2 of 2 tasks would be paused\n');
  t.equal(await done('pause', ...type, ...until), '1 of 1 task paused\n');
  t.same(await statuses(), ['scheduled', 'paused']);
  t.equal(await done('resume', ids[0]), '1 of 1 task resumed\n');
  t.equal(await done('pause', ids[1]), '1 of 1 task paused\n');
  t.equal(await done('resume', ...type), '1 of 1 task resumed\n');
  t.match(await tasks('cancel', ...type), {
    status: 2,
    stdout: '',
    stderr: /^sluice tasks: this would cancel 2 tasks\. Give --yes to confirm\.\n/,
  });
  const asked = (answer: string | null) => {
    const questions: string[] = [];
    const input = {
      isTerminal: true,
      ask: async (question: string) => {
        questions.push(question);
        return answer;
      },
      readAll: async () => '',
    };
    return { questions, input };
  };
  for (const answer of ['', 'n', 'later', null]) {
    const { questions, input } = asked(answer);
    const run = await runWith({ env, input }, 'tasks', 'cancel', ...type);
    t.match(run, { status: 2, stdout: '', stderr: 'sluice tasks: nothing was changed.\n' });
    t.same(questions, ['This will cancel 2 tasks. Continue? [y/N] ']);
  }
  t.same(await statuses(), ['scheduled', 'scheduled'], 'nothing is changed without a yes');
  t.match(await runWith({ env, input: asked('y').input }, 'tasks', 'cancel', ...type), {
    status: 0,
    stdout: '2 of 2 tasks canceled\n',
  });
  t.same(await statuses(), ['canceled', 'canceled']);
  t.equal(await done('cancel', ...type), '0 of 0 tasks canceled\n', 'nothing to ask about');
  t.match(await tasks('delete', ...type), { status: 2, stderr: /this would delete 2 tasks/ });
  t.equal(await done('delete', ...type, '--yes'), '2 of 2 tasks deleted\n');
  t.same(await statuses(), []);
  t.match(await tasks('cancel'), {
    status: 2,
    stderr: /give either the ids of the tasks to cancel, or flags/,
  });
  t.match(await tasks('pause', ids[0], ...type), {
    status: 2,
    stderr: /give either the ids of the tasks to pause/,
  });
  t.match(await tasks('retry', '--failed', '--status', 'expired'), {
    status: 2,
    stderr: /--failed and --status cannot be combined/,
  });
});

t.test('workers are changed, shown, paused, resumed and deleted', async t => {
  await done('workers', 'create', 'spare');
  t.match(await done('workers', 'show', 'spare'), /^name +spare$/m);
  const change = [
    '--concurrency',
    '3',
    '--timeout',
    '45s',
    '--group-concurrency',
    '1',
    '--group-order',
    'fifo',
  ];
  t.equal(await done('workers', 'update', 'spare', ...change), 'spare changed\n');
  t.match(await json('workers', 'show', 'spare'), {
    ...{ concurrency: 3, timeout: '45s', group_concurrency: 1, group_order: 'fifo' },
  });
  await done('workers', 'update', 'spare', '--concurrency', 'none');
  t.match(await json('workers', 'show', 'spare'), { concurrency: null, timeout: '45s' });
  t.equal(await done('workers', 'pause', 'spare'), 'spare paused\n');
  const id = await create('spare');
  t.match(await done('list', '--worker', 'spare'), / paused since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/m);
  t.equal(await done('workers', 'resume', 'spare'), 'spare resumed\n');
  t.equal(await done('run', id), '1 of 1 task start now\n');
  t.match(await tasks('workers', 'delete', 'spare'), { status: 2, stderr: /\(worker_has_tasks\)\n$/ });
  t.match(await done('workers', 'delete', 'spare', '--cancel-tasks'), /^spare deleted/);
  t.match(await tasks('workers', 'show', 'spare'), { status: 2, stderr: /\(not_found\)\n$/ });
});

t.test(
  'secrets: values come from a file or the environment; only those made here are shown, once',
  async t => {
    t.match(
      await done('secrets', 'create', 'mailer'),
      /^sec_\w{26} {2}signing {2}default {2}Shown only once: whsec_\S+\n$/,
    );
    t.match(await done('secrets', 'create', 'mailer', '--export'), /^export WEBHOOK_SECRET=whsec_\S+\n$/);
    const file = join(tempDirectory(t), 'key');
    writeFileSync(file, 'key-in-a-file\n');
    const header = ['secrets', 'create', 'mailer', '--type', 'header', '--name'];
    t.match(await done(...header, 'x-one', '--value-from', file), /^sec_\w{26} {2}header {2}x-one\n$/);
    const input = { isTerminal: false, ask: async () => null, readAll: async () => 'key-from-input\n' };
    t.match(await runWith({ env, input }, 'tasks', ...header, 'x-two', '--value-from', '-'), { status: 0 });
    const withValue = { ...env, SLUICE_SECRET_VALUE: 'key-of-the-environment' };
    t.match(await runIn(withValue, 'tasks', ...header, 'x-three', '--json'), {
      status: 0,
      stdout: /"value":null/,
    });
    t.match(await runIn(withValue, 'tasks', ...header, 'x-three', '--export'), {
      stderr: /values that the service/,
    });
    worker.answer = reply(200);
    await done('workers', 'test', 'mailer');
    t.match(Object.fromEntries(worker.requests.at(-1)!.fields), {
      'x-one': 'key-in-a-file',
      'x-two': 'key-from-input',
      'x-three': 'key-of-the-environment',
    });
    writeFileSync(file, 'two\nlines');
    const refused = await tasks(...header, 'x-four', '--value-from', file);
    t.match(refused, { status: 2, stdout: '', stderr: /\(validation_failed\)/ });
    t.notMatch(refused.stderr, /two|lines/, 'a value that is refused is not repeated');
    const table = await done('secrets', 'list', 'mailer');
    t.match(table, /^ID +TYPE +NAME +STATE +FINGERPRINT +LAST USED +EXPIRES\n/);
    t.match(table, /^sec_\w{26} +header +x-one +active +\w+/m);
    t.notMatch(table, /key-in-a-file|whsec_/);
    const [id] = /^sec_\w+(?= +header +x-one)/m.exec(table)!;
    t.equal(await done('secrets', 'delete', 'mailer', id), `${id} deleted\n`);
    t.notMatch(await done('secrets', 'list', 'mailer'), /x-one/);
    t.notMatch(service.output, /key-in-a-file|key-from-input|key-of-the-environment/);
  },
);

t.test('users and their tokens are made, changed and deleted, by id or email', async t => {
  const made = await done('users', 'create', 'Ann@Example.com', '--name', 'Ann', '--role', 'viewer');
  t.match(made, /^usr_\w{26} {2}Ann@Example\.com {2}viewer\n$/);
  const [id] = /usr_\w+/.exec(made)!;
  t.equal(await done('users', 'update', 'ann@example.com', '--role', 'member'), 'ann@example.com changed\n');
  t.match(await json('users', 'show', 'ann@example.com'), { id, role: 'member', name: 'Ann' });
  t.match(await done('users'), /^EMAIL +ROLE +STATUS +ID +NAME +LAST SEEN\n/);
  t.match(await done('users', 'list'), new RegExp(`^Ann@Example\\.com +member +active +${id} +Ann$`, 'm'));
  t.match(await tasks('users', 'show', 'nobody@example.com'), {
    status: 2,
    stderr: /^sluice tasks: no user has the email address nobody@example\.com\./,
  });

  t.match(await done('tokens', 'list', id), /^The user has no tokens\./);
  const exported = await done(
    'tokens',
    'create',
    'ann@example.com',
    '--scopes',
    'tasks:read',
    '--name',
    'ci',
    '--export',
  );
  const ann = { ...env, ...variables(exported) };
  t.match(ann['SLUICE_TOKEN'], /^tk_acme_/);
  t.match(await runIn(ann, 'tasks', 'list'), { status: 0 });
  t.match(await runIn(ann, 'tasks', 'create', 'reports'), { status: 2, stderr: /\(insufficient_scope\)/ });
  t.match(
    await done('tokens', 'create', id),
    /^tok_\w{26} {2}expires \d{4}-\S+ \S+Z\. Shown only once:\nexport SLUICE_TOKEN=tk_acme_\S+\n$/,
  );
  const table = await done('tokens', 'list', id);
  t.match(table, /^ID +NAME +EXPIRES +LAST USED +SCOPES\n/);
  t.match(table, /^tok_\w{26} +ci +\S+ \S+Z .*tasks:read$/m);
  t.notMatch(table, /tk_acme_/);
  const [token] = /^tok_\w+(?= +ci)/m.exec(table)!;
  t.equal(await done('tokens', 'delete', id, token), `${token} deleted\n`);
  t.match(await runIn(ann, 'tasks', 'list'), { status: 2, stderr: /\(invalid_token\)\n$/ });
  t.equal(await done('users', 'delete', 'ann@example.com'), 'ann@example.com deleted, with all tokens\n');
  t.match(await tasks('users', 'show', id), { status: 2, stderr: /\(not_found\)\n$/ });
});

t.test('counts, limits, usage and audit are tables, or what the service answers', async t => {
  t.match(await done('counts'), /^STATUS +TASKS\n[\s\S]*^succeeded +\d+$/m);
  t.same(
    await json('counts', '--worker', 'mailer'),
    (await acme.ask('GET /tasks/counts?worker=mailer')).json,
  );
  const limits = await done('limits');
  t.match(limits, /^LIMIT +VALUE +USED\n/);
  t.match(limits, /^workers +100 +\d+$/m);
  t.match(await json('limits'), { limits: { workers: 100 }, use: { users: 1 } });
  const usage = await done('usage', '--range', '24h');
  t.match(usage, /^FROM +CREATED +STARTED[^\n]*\n(?:.*\n)*last 24h +\d+ +\d+/);
  t.match(await json('usage', '--worker', 'mailer'), { interval_seconds: 60, worker: { name: 'mailer' } });
  const audit = await done('audit', '--limit', '500');
  t.match(audit, /^TIME +ACTION +BY +TARGET +WHAT +REQUEST\n/);
  t.match(audit, /^\d{4}-\S+ \S+Z +user\.deleted +user usr_\w+/m);
  t.match(audit, /^\d{4}-\S+ \S+Z +tasks\.bulk_action .*action=cancel/m);
  t.notMatch(audit, /tk_acme_|whsec_|key-in/);
  t.match(await json('audit', '--limit', '2'), [{ action: String }, { action: String }]);
});

t.test('accounts: the operator lists, shows, limits, suspends, resumes and deletes them', async t => {
  const operator = {
    ACCOUNTS_OPERATOR_TOKEN: OPERATOR,
    SLUICE_SERVICE: `http://localhost:${service.http.split(':')[1]}`,
  };
  const asOperator = async (...argv: string[]) => {
    const { status, stdout, stderr } = await runIn(operator, 'tasks', 'accounts', ...argv);
    t.equal(status, 0, `${argv.join(' ')} ${stderr}`);
    return stdout;
  };
  t.match(await asOperator('list'), /^DOMAIN +STATUS +CREATED +ADDRESS\nacme +active +\d{4}-\S+ \S+Z +http:/);
  const shown = await asOperator('show', 'third');
  t.match(shown, /^domain +third$/m);
  t.match(shown, /^LIMIT +VALUE +USED$/m);
  t.match(
    await asOperator('limits', 'third', 'in_flight=7', 'retain_other=48h'),
    /^in_flight +7 +0 +changed$/m,
  );
  t.match(JSON.parse(await asOperator('limits', 'third', 'in_flight=default', '--json')), {
    changed_limits: ['retain_other'],
  });
  const wrong = await runIn(operator, 'tasks', 'accounts', 'limits', 'third', 'workers=0');
  t.match(wrong, { status: 2, stderr: /workers.*\(validation_failed\)/ });

  const exported = await asOperator('owner-token', 'third', '--export');
  const third = variables(exported);
  t.match(third, { SLUICE_URL: /^http:\/\/third\.localhost:\d+$/, SLUICE_TOKEN: /^tk_third_/ });
  t.match(
    await asOperator('owner-token', 'third'),
    /^It is the token of usr_\w+ and expires at .* only once:\n/,
  );
  t.equal(await asOperator('suspend', 'third'), 'third suspended\n');
  t.match(await runIn(third, 'tasks', 'add-worker', 'w'), { status: 2, stderr: /\(tenant_suspended\)\n$/ });
  t.equal(await asOperator('resume', 'third'), 'third resumed\n');
  t.match(await runIn(third, 'tasks', 'add-worker', 'w'), { status: 0 });

  const refused = await runIn(operator, 'tasks', 'accounts', 'delete', 'third');
  t.match(refused, { status: 2, stderr: /this would delete the account third with all of its tasks/ });
  t.match(
    await asOperator('delete', 'third', '--yes'),
    /^third is being deleted; "sluice tasks accounts show third"/,
  );
  t.match(await asOperator('show', 'third'), /^status +delet(ing|ed)$/m);
  t.match(await runIn(third, 'tasks', 'list'), { status: 2, stderr: /\((tenant_not_found|not_found)\)\n$/ });
  const stranger = { ...operator, ACCOUNTS_OPERATOR_TOKEN: 'letmein-letmein-letmein' };
  const denied = await runIn(stranger, 'tasks', 'accounts', 'list');
  t.match(denied, { status: 2, stderr: /\(invalid_token\)\n$/ });
  t.notMatch(denied.stderr, /letmein/);
});

t.test('a token that is not valid is refused and not shown', async t => {
  const wrong = { ...env, SLUICE_TOKEN: 'tk_acme_letmein' };
  const { status, stdout, stderr } = await runIn(wrong, 'tasks', 'list');
  t.match({ status, stdout }, { status: 2, stdout: '' });
  t.match(stderr, /\(invalid_token\)\n$/);
  t.notMatch(stderr, /letmein/);
});

t.test('what is secret is in no line of the log', async t => {
  const log = JSON.stringify(service.logs);
  t.match(log, /"Setting"/, 'the log says all that it can');
  t.match(log, /Secret created/);
  t.notMatch(log, new RegExp(`${env['SLUICE_TOKEN']}|tk_acme_|whsec_|wkt_|${OPERATOR}|${MASTER_KEY}`));
  t.notMatch(log, new RegExp(PAYLOAD));
});

// Not a teardown: what runs keeps the whole from ending, which is what a teardown of the whole waits for.
t.test('the service ends in order', async t => {
  t.match(await service.terminate(), { status: 0 });
  await worker.stop();
  removeDirectory(data);
});
