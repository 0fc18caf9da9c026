import { integer } from '../../settings/kinds.ts';
import { aligned } from '../aligned.ts';
import { UsageFault } from '../command-fault.ts';
import { parseFlags, readFlag } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { printable } from '../printable.ts';
import { payloadOf } from './create-task.ts';
import { allOf } from './pages.ts';
import { shellExports } from './shell-exports.ts';
import { noArguments, onlyArgument, targetOf } from './target.ts';
import { callApi, type Json } from './tasks-api.ts';
import { ADD_WORKER_FLAGS, COMMON_FLAGS, TEST_WORKER_FLAGS } from './tasks-flags.ts';

/** `sluice tasks add-worker NAME` */
export async function addWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, ADD_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const target = targetOf(flags, io);
  if (flags.json && flags.export) throw new UsageFault('--json and --export exclude each other.');
  const concurrency =
    flags.concurrency === ''
      ? null
      : readFlag('concurrency', flags.concurrency, integer({ min: 1, max: 1_000 }));
  const pushTo = flags['push-to'];
  const taskUrls = flags['task-urls'];
  const pulls = pushTo === '' && !taskUrls;
  const worker = await callApi(target, {
    method: 'POST',
    path: '/api/v1/workers',
    body: {
      name,
      ...(pulls ? { mode: 'pull' } : taskUrls ? { task_urls: true } : {}),
      ...(pushTo !== '' && { url: pushTo }),
      ...(concurrency !== null && { concurrency }),
      ...(flags.timeout !== '' && { timeout: flags.timeout }),
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
    io.stdout(`${JSON.stringify({ ...worker, ...(secret !== null && { secret }) })}\n`);
    return EXIT.done;
  }
  if (secret !== null && flags.export) {
    io.stdout(shellExports({ [pulls ? 'WORKER_TOKEN' : 'WEBHOOK_SECRET']: String(secret['value']) }));
    return EXIT.done;
  }
  io.stdout(
    `${printable(`${worker['id']}  ${name}  ${pulls ? 'pull' : `push to ${taskUrls ? 'the URLs of its tasks' : pushTo}`}`)}\n`,
  );
  if (secret !== null) io.stdout(`${secretWords(pulls)}, shown only this once: ${secret['value']}\n`);
  return EXIT.done;
}

function secretWords(pulls: boolean): string {
  return pulls ? 'Its token' : 'The secret that its tasks are signed with';
}

/** `sluice tasks workers`, and `sluice tasks workers test NAME` */
export async function workers(args: readonly string[], io: CliIo): Promise<number> {
  return args[0] === 'test' ? await testWorker(args.slice(1), io) : await listWorkers(args, io);
}

async function listWorkers(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const workers = await allOf(targetOf(flags, io), '/api/v1/workers', new URLSearchParams(), Infinity);
  if (flags.json) io.stdout(`${JSON.stringify(workers)}\n`);
  else if (workers.length === 0) io.stdout('There are no workers. "sluice tasks add-worker" makes one.\n');
  else {
    const rows = [['NAME', 'MODE', 'STATE', 'ID', 'URL'], ...workers.map(cells)];
    for (const line of aligned(rows)) io.stdout(`${printable(line)}\n`);
  }
  return EXIT.done;
}

function cells(worker: Json): string[] {
  const state = worker['paused'] === true ? 'paused' : 'serving';
  return [worker['name'], worker['mode'], state, worker['id'], worker['url'] ?? ''].map(String);
}

async function testWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, TEST_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const result = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: `/api/v1/workers/${encodeURIComponent(name)}/test`,
    body: {
      ...(flags['push-to'] !== '' && { url: flags['push-to'] }),
      ...(flags.payload !== '' && { payload: payloadOf(flags.payload) }),
    },
  });
  if (flags.json) io.stdout(`${JSON.stringify(result)}\n`);
  else for (const line of testLines(result)) io.stdout(`${printable(line)}\n`);
  return result['outcome'] === 'succeeded' ? EXIT.done : EXIT.refused;
}

/** The request and the response as they are written, and what they mean. */
function testLines(result: Json): string[] {
  const request = result['request'] as Json | null;
  const response = result['response'] as Json | null;
  const error = result['error'] as Json | null;
  const lines: string[] = [];
  if (request !== null) {
    const headers = Object.entries(request['headers'] as Json);
    lines.push(`> ${request['method']} ${request['url']}`);
    lines.push(...headers.map(([name, value]) => `> ${name}: ${value}`), '>');
    lines.push(...textLines('> ', request['body']), '');
  }
  if (response !== null) {
    lines.push(`< ${response['status']}`, ...textLines('< ', response['body']));
    lines.push(...(response['truncated'] === true ? ['< (the rest is not shown)', ''] : ['']));
  }
  lines.push(`${result['outcome']} after ${result['duration_ms']} ms`);
  if (error !== null) lines.push(`${error['message']} (${error['code']})`);
  return lines;
}

function textLines(prefix: string, text: unknown): string[] {
  return text === ''
    ? []
    : String(text)
        .split('\n')
        .map(line => prefix + line);
}
