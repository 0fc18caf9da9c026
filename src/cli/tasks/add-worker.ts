import { integer } from '../../settings/kinds.ts';
import { UsageFault } from '../command-fault.ts';
import { parseFlags, readFlag } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { shellExports } from './shell-exports.ts';
import { onlyArgument, targetOf } from './target.ts';
import { callApi } from './tasks-api.ts';
import { ADD_WORKER_FLAGS } from './tasks-flags.ts';
import { printJson, printLine } from './tasks-output.ts';

/** `sluice tasks workers create NAME`, and `add-worker` */
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
    printJson({ ...worker, ...(secret !== null && { secret }) }, io);
    return EXIT.done;
  }
  if (secret !== null && flags.export) {
    io.stdout(shellExports({ [pulls ? 'WORKER_TOKEN' : 'WEBHOOK_SECRET']: String(secret['value']) }));
    return EXIT.done;
  }
  const how = pulls ? 'pull' : `push to ${taskUrls ? 'the URLs of its tasks' : pushTo}`;
  printLine(`${worker['id']}  ${name}  ${how}`, io);
  if (secret !== null) io.stdout(`${secretWords(pulls)}, shown only this once: ${secret['value']}\n`);
  return EXIT.done;
}

function secretWords(pulls: boolean): string {
  return pulls ? 'Its token' : 'The secret that its tasks are signed with';
}
