import { randomUUID } from 'node:crypto';
import { type FlagValues, parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { payloadFields } from './command/payload.ts';
import { onlyArgument, targetOf } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import { CREATE_FLAGS } from './command/tasks-flags.ts';
import { report } from './command/tasks-output.ts';

/** `sluice tasks create WORKER` */
export async function createTask(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_FLAGS);
  const worker = onlyArgument(positionals, 'name of the worker');
  const task = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: '/api/v1/tasks',
    body: { worker, ...fieldsOf(flags) },
    idempotencyKey: randomUUID(),
  });
  const found = task['deduplicated'] === true ? '  (it was there: the key is taken)' : '';
  report(task, `${task['id']}  ${task['status']}  ${task['next_attempt_at'] ?? ''}${found}`, flags, io);
  return EXIT.done;
}

function fieldsOf(flags: FlagValues<typeof CREATE_FLAGS>): Json {
  const { type, priority, delay, key, group, tags } = flags;
  const texts = {
    ...{ type, priority, delay, key, group },
    run_at: flags['run-at'],
    expires_in: flags['expires-in'],
    on_conflict: flags['on-conflict'],
    url: flags['push-to'],
  };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(tags !== '' && { tags: tags.split(',') }),
    ...payloadFields(flags),
  };
}
