import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { asError } from '../../base/fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { allOf, callApi, type Json } from './tasks-api.ts';
import {
  onlyArgument,
  printJson,
  printLine,
  printTable,
  report,
  shellExports,
  type TasksCommand,
  targetOf,
  timeText,
  twoArguments,
} from './tasks-command.ts';
import { COMMON_FLAGS, TEXT } from './tasks-flags.ts';

const CREATE_SECRET_FLAGS = {
  ...COMMON_FLAGS,
  type: {
    kind: 'text',
    placeholder: 'WORD',
    default: 'signing',
    help: 'signing, header (a confidential header), or token (for a pull worker)',
  },
  name: { ...TEXT, placeholder: 'TEXT', help: 'name of the secret; for a header, the name of the header' },
  'value-from': { ...TEXT, placeholder: 'FILE', help: 'file that contains the value; - is standard input' },
  'expire-previous-in': {
    ...TEXT,
    placeholder: 'DURATION',
    help: 'how long earlier secrets with the same type and name stay valid, 0s to 7d (default: 24h)',
  },
  export: {
    kind: 'switch',
    help: 'print only a shell command that sets WEBHOOK_SECRET or WORKER_TOKEN',
  },
} as const;

const WORKER = 'name of the worker';
/** Larger than any value of a secret. */
const MAX_VALUE_BYTES = 64 * 1024;

/** `sluice tasks secrets`: secrets of workers. */
export const SECRET_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'secrets list',
    examples: ['sluice tasks secrets list mailer'],
    takes: 'WORKER',
    summary: 'list the secrets of a worker, without their values',
    flags: COMMON_FLAGS,
    run: listSecrets,
  },
  {
    name: 'secrets create',
    examples: [
      'sluice tasks secrets create mailer --export',
      'sluice tasks secrets create mailer --type header --name x-api-key \\\n    --value-from key.txt',
    ],
    takes: 'WORKER',
    summary: 'create a secret; a generated value is printed only once',
    flags: CREATE_SECRET_FLAGS,
    notes:
      'A header requires a value; a signing secret can have one, otherwise it is generated. Give the value with ' +
      '--value-from or SLUICE_SECRET_VALUE, never as an argument. It is not shown again.',
    run: createSecret,
  },
  {
    name: 'secrets delete',
    examples: ['sluice tasks secrets delete mailer sec_01hzxa'],
    takes: 'WORKER SECRET',
    summary: 'delete a secret by its id (sec_…)',
    flags: COMMON_FLAGS,
    run: deleteSecret,
  },
];

async function listSecrets(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const path = pathOf(onlyArgument(positionals, WORKER));
  const secrets = await allOf(targetOf(flags, io), path, new URLSearchParams(), Infinity);
  if (flags.json) printJson(secrets, io);
  else if (secrets.length === 0)
    printLine('The worker has no secrets. "sluice tasks secrets create" creates one.', io);
  else {
    const head = ['ID', 'TYPE', 'NAME', 'STATE', 'FINGERPRINT', 'LAST USED', 'EXPIRES'];
    printTable(head, secrets.map(cells), io);
  }
  return EXIT.done;
}

function cells(secret: Json): string[] {
  const texts = ['id', 'type', 'name', 'state', 'fingerprint'].map(name => String(secret[name]));
  return [...texts, timeText(secret['last_used_at']), timeText(secret['expires_at'])];
}

async function createSecret(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_SECRET_FLAGS);
  const worker = onlyArgument(positionals, WORKER);
  if (flags.json && flags.export) throw new UsageFault('--json and --export cannot be combined.');
  const target = targetOf(flags, io);
  const value = await givenValue(flags, io);
  if (flags.export && value !== null)
    throw new UsageFault('--export is only for values that the service generates.');
  const previous = flags['expire-previous-in'];
  const secret = await callApi(target, {
    method: 'POST',
    path: pathOf(worker),
    body: {
      type: flags.type,
      ...(flags.name !== '' && { name: flags.name }),
      ...(value !== null && { value }),
      ...(previous !== '' && { expire_previous_in: previous }),
    },
    idempotencyKey: randomUUID(),
  });
  const made = secret['value'];
  if (flags.json) printJson(secret, io);
  else if (flags.export) {
    io.stdout(shellExports({ [flags.type === 'token' ? 'WORKER_TOKEN' : 'WEBHOOK_SECRET']: String(made) }));
  } else {
    const once = typeof made === 'string' ? `  Shown only once: ${made}` : '';
    printLine(`${secret['id']}  ${secret['type']}  ${secret['name']}${once}`, io);
  }
  return EXIT.done;
}

/** The value without the line end that files and commands append; null if no value is given. */
async function givenValue(
  flags: Readonly<Record<'type' | 'value-from' | 'name', string>>,
  io: CliIo,
): Promise<string | null> {
  const from = flags['value-from'];
  const text = from === '' ? (io.env['SLUICE_SECRET_VALUE'] ?? '') : await valueFrom(from, io);
  const value = text.replace(/\r?\n$/, '');
  if (value !== '') return value;
  if (from !== '') throw new UsageFault(`--value-from ${from}: the value is empty.`);
  if (flags.type !== 'header') return null;
  throw new UsageFault('a header secret needs a value: give --value-from FILE or set SLUICE_SECRET_VALUE.');
}

async function valueFrom(file: string, io: CliIo): Promise<string> {
  if (file === '-') {
    if (io.input === undefined) throw new UsageFault('cannot read the value: there is no standard input.');
    return await io.input.readAll(MAX_VALUE_BYTES);
  }
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CommandFault(`cannot read the value: ${asError(cause).message}`, { cause });
  }
}

async function deleteSecret(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const [worker, id] = twoArguments(positionals, [WORKER, 'id of the secret']);
  await callApi(targetOf(flags, io), {
    method: 'DELETE',
    path: `${pathOf(worker)}/${encodeURIComponent(id)}`,
  });
  report({ deleted: id }, `${id} deleted`, flags, io);
  return EXIT.done;
}

function pathOf(worker: string): string {
  return `/api/v1/workers/${encodeURIComponent(worker)}/secrets`;
}
