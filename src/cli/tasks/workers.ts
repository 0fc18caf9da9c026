import { WORKER_FIELDS } from '../../tasks/rest/fields/worker-fields.ts';
import { type FlagValues, parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { fieldsOfFlags, flagsOf } from './field-flags.ts';
import { allOf, callApi, type Json } from './tasks-api.ts';
import {
  noArguments,
  onlyArgument,
  printFields,
  printJson,
  printLine,
  printTable,
  report,
  shellExports,
  type TasksCommand,
  targetOf,
} from './tasks-command.ts';
import { COMMON_FLAGS, PAYLOAD_FLAGS, PUSH_TO_FLAG, payloadFields, TEXT } from './tasks-flags.ts';

/** Flags for fields of a worker, of which some are written in a short form. */
const WORKER_FLAGS = {
  'on-finish': {
    ...TEXT,
    placeholder: 'NAME',
    help: 'worker that receives a task when a task finishes, or none',
  },
  events: {
    ...TEXT,
    placeholder: 'LIST',
    help: 'with --on-finish: results to report, a list of succeeded, failed, canceled and expired',
  },
  limit: {
    ...TEXT,
    placeholder: 'LIMIT',
    help: 'rate limit that each start counts against: DOMAIN:KEY=VALUE,KEY=VALUE, or none',
  },
  ...flagsOf(WORKER_FIELDS),
} as const;

const UPDATE_WORKER_FLAGS = { ...COMMON_FLAGS, ...WORKER_FLAGS } as const;

const ADD_WORKER_FLAGS = {
  ...UPDATE_WORKER_FLAGS,
  'task-urls': { kind: 'switch', help: 'push each task to the URL that the task names' },
  secret: {
    kind: 'switch',
    help: 'also create a signing secret, or a token for a pull worker',
  },
  export: {
    kind: 'switch',
    help: 'like --secret, and print only a shell command that sets WEBHOOK_SECRET or WORKER_TOKEN',
  },
} as const;

const TEST_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'push-to': PUSH_TO_FLAG,
  ...PAYLOAD_FLAGS,
} as const;

const DELETE_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'cancel-tasks': { kind: 'switch', help: 'cancel the unfinished tasks of the worker' },
} as const;

const WORKER = 'name of the worker';

/** `sluice tasks add-worker`, which is also `workers create`. */
export const ADD_WORKER: TasksCommand = {
  name: 'add-worker',
  examples: [
    'sluice tasks add-worker mailer --push-to https://example.com/mail --secret',
    'sluice tasks add-worker reports --concurrency 5 --timeout 10m',
  ],
  takes: 'NAME',
  summary: 'create a worker',
  flags: ADD_WORKER_FLAGS,
  run: addWorker,
};

/** `sluice tasks workers` */
export const WORKER_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'workers list',
    examples: ['sluice tasks workers list'],
    takes: '',
    summary: 'list workers',
    flags: COMMON_FLAGS,
    run: listWorkers,
  },
  {
    ...ADD_WORKER,
    name: 'workers create',
    examples: ['sluice tasks workers create mailer --push-to https://example.com/mail'],
  },
  {
    name: 'workers show',
    examples: ['sluice tasks workers show mailer'],
    takes: 'NAME',
    summary: 'show a worker',
    flags: COMMON_FLAGS,
    run: showWorker,
  },
  {
    name: 'workers update',
    examples: [
      'sluice tasks workers update mailer --concurrency 20 --timeout 30s',
      'sluice tasks workers update mailer --limit edge:upstream=mail',
    ],
    takes: 'NAME',
    summary: 'change the fields given by flags',
    flags: UPDATE_WORKER_FLAGS,
    run: updateWorker,
  },
  {
    name: 'workers test',
    examples: ['sluice tasks workers test mailer --payload \'{"to":"ann@example.com"}\''],
    takes: 'NAME',
    summary: 'send a test request to a push worker',
    flags: TEST_WORKER_FLAGS,
    run: testWorker,
  },
  {
    name: 'workers pause',
    examples: ['sluice tasks workers pause mailer'],
    takes: 'NAME',
    summary: 'pause a worker, so that no task of it is started',
    flags: COMMON_FLAGS,
    run: (args, io) => setPaused(args, io, true),
  },
  {
    name: 'workers resume',
    examples: ['sluice tasks workers resume mailer'],
    takes: 'NAME',
    summary: 'resume a paused worker',
    flags: COMMON_FLAGS,
    run: (args, io) => setPaused(args, io, false),
  },
  {
    name: 'workers delete',
    examples: ['sluice tasks workers delete mailer --cancel-tasks'],
    takes: 'NAME',
    summary: 'delete a worker and its secrets; fails while the worker has unfinished tasks',
    flags: DELETE_WORKER_FLAGS,
    run: deleteWorker,
  },
];

async function listWorkers(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const workers = await allOf(targetOf(flags, io), '/api/v1/workers', new URLSearchParams(), Infinity);
  if (flags.json) printJson(workers, io);
  else if (workers.length === 0)
    printLine('There are no workers. "sluice tasks workers create" creates one.', io);
  else printTable(['NAME', 'MODE', 'STATE', 'ID', 'URL'], workers.map(cells), io);
  return EXIT.done;
}

function cells(worker: Json): string[] {
  const state = worker['paused'] === true ? 'paused' : 'serving';
  return [worker['name'], worker['mode'], state, worker['id'], worker['url'] ?? ''].map(String);
}

async function showWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = pathOf(onlyArgument(positionals, WORKER));
  const worker = await callApi(targetOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(worker, io);
  else printFields(worker, io);
  return EXIT.done;
}

async function updateWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, UPDATE_WORKER_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const body = workerFields(flags);
  if (Object.keys(body).length === 0)
    throw new UsageFault('nothing to change: give at least one flag, such as --concurrency 20.');
  const worker = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body });
  report(worker, `${name} changed`, flags, io);
  return EXIT.done;
}

async function setPaused(args: readonly string[], io: CliIo, paused: boolean): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const worker = await callApi(targetOf(flags, io), { method: 'PUT', path: pathOf(name), body: { paused } });
  report(worker, `${name} ${paused ? 'paused' : 'resumed'}`, flags, io);
  return EXIT.done;
}

async function deleteWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, DELETE_WORKER_FLAGS);
  const name = onlyArgument(positionals, WORKER);
  const query = flags['cancel-tasks'] ? '?cancel_tasks=true' : '';
  await callApi(targetOf(flags, io), { method: 'DELETE', path: `${pathOf(name)}${query}` });
  report({ deleted: name }, `${name} deleted; its finished tasks are kept`, flags, io);
  return EXIT.done;
}

function pathOf(name: string): string {
  return `/api/v1/workers/${encodeURIComponent(name)}`;
}

/** `sluice tasks workers create NAME`, and `add-worker` */
async function addWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, ADD_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const target = targetOf(flags, io);
  if (flags.json && flags.export) throw new UsageFault('--json and --export cannot be combined.');
  const fields = workerFields(flags);
  const pushTo = fields['url'];
  const taskUrls = flags['task-urls'];
  const pulls = pushTo === undefined && !taskUrls;
  const worker = await callApi(target, {
    method: 'POST',
    path: '/api/v1/workers',
    body: {
      name,
      ...(pulls ? { mode: 'pull' } : taskUrls ? { task_urls: true } : {}),
      ...fields,
    },
  });
  const secret =
    flags.secret || flags.export
      ? await callApi(target, {
          method: 'POST',
          path: `/api/v1/workers/${encodeURIComponent(name)}/secrets`,
          body: { type: pulls ? 'token' : 'signing', name: 'first' },
        })
      : null;
  if (flags.json) {
    printJson({ ...worker, ...(secret !== null && { secret }) }, io);
    return EXIT.done;
  }
  if (secret !== null && flags.export) {
    io.stdout(shellExports({ [pulls ? 'WORKER_TOKEN' : 'WEBHOOK_SECRET']: String(secret['value']) }));
    return EXIT.done;
  }
  const how = pulls ? 'pull' : `push to ${taskUrls ? 'the URLs of its tasks' : pushTo}`;
  printLine(`${worker['id']}  ${name}  ${how}`, io);
  if (secret !== null) io.stdout(`${secretWords(pulls)}, shown only once: ${secret['value']}\n`);
  return EXIT.done;
}

/** Fields of a worker from flags, except its name and mode. @throws UsageFault */
function workerFields(flags: FlagValues<typeof WORKER_FLAGS>): Json {
  return {
    ...fieldsOfFlags(WORKER_FIELDS, flags),
    ...onFinishField(flags['on-finish'], flags.events),
    ...limitField(flags.limit),
  };
}

function onFinishField(worker: string, events: string): Json {
  if (events !== '' && (worker === '' || worker === 'none')) {
    throw new UsageFault('--events requires --on-finish NAME.');
  }
  if (worker === '') return {};
  if (worker === 'none') return { on_finish: null };
  return { on_finish: { worker, ...(events !== '' && { events: events.split(',') }) } };
}

function limitField(text: string): Json {
  if (text === '') return {};
  if (text === 'none') return { limit: null };
  const [, domain, entries] = /^([^:]+):(.+)$/.exec(text) ?? [];
  const descriptor = entries?.split(',').map(entry => {
    const at = entry.indexOf('=');
    return { key: entry.slice(0, Math.max(at, 0)), value: entry.slice(at + 1) };
  });
  if (descriptor === undefined || descriptor.some(({ key, value }) => key === '' || value === '')) {
    throw new UsageFault(
      '--limit must be a domain and a descriptor, such as edge:upstream=billing, or none.',
    );
  }
  return { limit: { domain, descriptor } };
}

function secretWords(pulls: boolean): string {
  return pulls ? 'Its token' : 'Its signing secret';
}

/** `sluice tasks workers test NAME` */
async function testWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, TEST_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const result = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: `/api/v1/workers/${encodeURIComponent(name)}/test`,
    body: {
      ...(flags['push-to'] !== '' && { url: flags['push-to'] }),
      ...payloadFields(flags),
    },
  });
  if (flags.json) printJson(result, io);
  else for (const line of testLines(result)) printLine(line, io);
  return result['outcome'] === 'succeeded' ? EXIT.done : EXIT.refused;
}

/** The request, the response and the result of a test. */
function testLines(result: Json): string[] {
  const request = result['request'] as Json | null;
  const response = result['response'] as Json | null;
  const error = result['error'] as Json | null;
  const lines: string[] = [];
  if (request !== null) {
    const headers = Object.entries(request['headers'] as Json);
    lines.push(`> ${request['method']} ${request['url']}`);
    lines.push(...headers.map(([name, value]) => `> ${name}: ${value}`), '>');
    lines.push(...bodyLines(request), '');
  }
  if (response !== null) {
    lines.push(`< ${response['status']}`, ...textLines('< ', response['body']));
    lines.push(...(response['truncated'] === true ? ['< (the rest is not shown)', ''] : ['']));
  }
  lines.push(`${result['outcome']} after ${result['duration_ms']} ms`);
  if (error !== null) lines.push(`${error['message']} (${error['code']})`);
  return lines;
}

/** Binary bodies are shown in base64, because their bytes could control the terminal. */
function bodyLines(request: Json): string[] {
  const base64 = request['body_base64'];
  return base64 === undefined ? textLines('> ', request['body']) : textLines('> (base64) ', base64);
}

function textLines(prefix: string, text: unknown): string[] {
  return text === ''
    ? []
    : String(text)
        .split('\n')
        .map(line => prefix + line);
}
