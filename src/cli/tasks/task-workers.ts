import { integer } from '../../settings/kinds.ts';
import { aligned } from '../aligned.ts';
import { UsageFault } from '../command-fault.ts';
import { parseFlags, readFlag } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { printable } from '../printable.ts';
import { allOf } from './pages.ts';
import { shellExports } from './shell-exports.ts';
import { noArguments, onlyArgument, targetOf } from './target.ts';
import { callApi, type Json } from './tasks-api.ts';
import { ADD_WORKER_FLAGS, COMMON_FLAGS } from './tasks-flags.ts';

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
  const worker = await callApi(target, {
    method: 'POST',
    path: '/api/v1/workers',
    body: {
      name,
      ...(pushTo === '' ? { mode: 'pull' } : { url: pushTo }),
      ...(concurrency !== null && { concurrency }),
      ...(flags.timeout !== '' && { timeout: flags.timeout }),
    },
  });
  const secret =
    flags.secret || flags.export
      ? await callApi(target, {
          method: 'POST',
          path: `/api/v1/workers/${encodeURIComponent(name)}/secrets`,
          body: { type: pushTo === '' ? 'token' : 'signing', name: 'first' },
        })
      : null;
  if (flags.json) {
    io.stdout(`${JSON.stringify({ ...worker, ...(secret !== null && { secret }) })}\n`);
    return EXIT.done;
  }
  if (secret !== null && flags.export) {
    io.stdout(shellExports({ [pushTo === '' ? 'WORKER_TOKEN' : 'WEBHOOK_SECRET']: String(secret['value']) }));
    return EXIT.done;
  }
  io.stdout(`${printable(`${worker['id']}  ${name}  ${pushTo === '' ? 'pull' : `push to ${pushTo}`}`)}\n`);
  if (secret !== null) io.stdout(`${secretWords(pushTo)}, shown only this once: ${secret['value']}\n`);
  return EXIT.done;
}

function secretWords(pushTo: string): string {
  return pushTo === '' ? 'Its token' : 'The secret that its tasks are signed with';
}

/** `sluice tasks workers` */
export async function listWorkers(args: readonly string[], io: CliIo): Promise<number> {
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
