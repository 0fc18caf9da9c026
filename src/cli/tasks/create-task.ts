import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { asError } from '../../base/fault.ts';
import { CommandFault, UsageFault } from '../command-fault.ts';
import { type FlagValues, parseFlags } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { onlyArgument, targetOf } from './target.ts';
import { callApi, type Json } from './tasks-api.ts';
import { CREATE_FLAGS } from './tasks-flags.ts';
import { report } from './tasks-output.ts';

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
  const { type, priority, delay, key, payload } = flags;
  const texts = { type, priority, delay, key, run_at: flags['run-at'], url: flags['push-to'] };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
    ...(payload !== '' && { payload: payloadOf(payload) }),
  };
}

/**
 * The JSON of `--payload`: a text, or a file after `@`.
 *
 * @throws UsageFault, CommandFault
 */
export function payloadOf(text: string): unknown {
  const json = text.startsWith('@') ? fileText(text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new UsageFault(
      `--payload is not JSON: ${asError(cause).message}. A text goes in quotes: '"text"'.`,
    );
  }
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CommandFault(`the payload cannot be read: ${asError(cause).message}`, { cause });
  }
}
