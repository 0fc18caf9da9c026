import { integer } from '../../settings/kinds/kinds.ts';
import { UsageFault } from '../terminal/command-fault.ts';
import { type FlagValues, parseFlags, readFlag } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { shellExports } from './command/shell-exports.ts';
import { onlyArgument, targetOf } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import { ADD_WORKER_FLAGS, type WORKER_FLAGS } from './command/tasks-flags.ts';
import { printJson, printLine } from './command/tasks-output.ts';

/** `sluice tasks workers create NAME`, and `add-worker` */
export async function addWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, ADD_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const target = targetOf(flags, io);
  if (flags.json && flags.export) throw new UsageFault('--json and --export exclude each other.');
  const fields = workerFields(flags);
  const pushTo = flags['push-to'];
  const taskUrls = flags['task-urls'];
  const pulls = pushTo === '' && !taskUrls;
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
  if (secret !== null) io.stdout(`${secretWords(pulls)}, shown only this once: ${secret['value']}\n`);
  return EXIT.done;
}

/** What flags say about a worker, besides its name and how it gets tasks. @throws UsageFault */
export function workerFields(flags: FlagValues<typeof WORKER_FLAGS>): Json {
  const texts = { url: flags['push-to'], timeout: flags.timeout, group_order: flags['group-order'] };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...onFinishField(flags['on-finish'], flags.events),
    ...limitField(flags.limit),
    ...countField('concurrency', flags.concurrency),
    ...countField('group-concurrency', flags['group-concurrency']),
  };
}

function onFinishField(worker: string, events: string): Json {
  if (events !== '' && (worker === '' || worker === 'none')) {
    throw new UsageFault('--events needs --on-finish NAME.');
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
      '--limit takes a domain and its descriptor, such as edge:upstream=billing, or none.',
    );
  }
  return { limit: { domain, descriptor } };
}

function countField(flag: string, text: string): Json {
  if (text === '') return {};
  const count = text === 'none' ? null : readFlag(flag, text, integer({ min: 1, max: 1_000 }));
  return { [flag.replace('-', '_')]: count };
}

function secretWords(pulls: boolean): string {
  return pulls ? 'Its token' : 'The secret that its tasks are signed with';
}
