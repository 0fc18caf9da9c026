import { randomUUID } from 'node:crypto';
import { printable } from '../../base/printable.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT, UsageFault } from '../terminal/io.ts';
import { printLimits } from './account-use.ts';
import { allOf, callApi, type Json, strangeAnswer } from './tasks-api.ts';
import {
  confirm,
  noArguments,
  onlyArgument,
  operatorOf,
  printFields,
  printJson,
  printLine,
  printTable,
  report,
  serviceOf,
  shellExports,
  type TasksCommand,
  timeText,
} from './tasks-command.ts';
import { COMMON_FLAGS, SERVICE_FLAGS, YES_FLAG } from './tasks-flags.ts';

const CREATE_ACCOUNT_FLAGS = {
  service: SERVICE_FLAGS.service,
  export: { kind: 'switch', help: 'print only shell commands that set SLUICE_URL and SLUICE_TOKEN' },
  json: COMMON_FLAGS.json,
} as const;

const DELETE_ACCOUNT_FLAGS = { ...SERVICE_FLAGS, yes: YES_FLAG } as const;

const OWNER_TOKEN_FLAGS = { ...SERVICE_FLAGS, export: CREATE_ACCOUNT_FLAGS.export } as const;

const DOMAIN = 'domain of the account';

/** `sluice tasks create-account`, which is also `accounts create`. */
export const CREATE_ACCOUNT: TasksCommand = {
  name: 'create-account',
  examples: [
    'eval "$(sluice tasks create-account acme --export)"',
    'sluice tasks create-account acme --service https://tasks.example.com',
  ],
  takes: 'DOMAIN',
  summary: 'create an account (a tenant) and print its first token',
  flags: CREATE_ACCOUNT_FLAGS,
  run: createAccount,
};

/** `sluice tasks accounts`: commands for the operator of the service. */
export const ACCOUNT_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'accounts list',
    examples: ['sluice tasks accounts list'],
    takes: '',
    summary: 'list accounts by domain',
    flags: SERVICE_FLAGS,
    run: listAccounts,
  },
  { ...CREATE_ACCOUNT, name: 'accounts create', examples: ['sluice tasks accounts create acme'] },
  {
    name: 'accounts show',
    examples: ['sluice tasks accounts show acme'],
    takes: 'DOMAIN',
    summary: 'show an account: its status, limits, use, and the progress of its deletion',
    flags: SERVICE_FLAGS,
    run: showAccount,
  },
  {
    name: 'accounts suspend',
    examples: ['sluice tasks accounts suspend acme'],
    takes: 'DOMAIN',
    summary: 'suspend an account: it becomes read-only and no task is started',
    flags: SERVICE_FLAGS,
    run: (args, io) => setStatus(args, io, 'suspended', 'suspended'),
  },
  {
    name: 'accounts resume',
    examples: ['sluice tasks accounts resume acme'],
    takes: 'DOMAIN',
    summary: 'resume a suspended account',
    flags: SERVICE_FLAGS,
    run: (args, io) => setStatus(args, io, 'active', 'resumed'),
  },
  {
    name: 'accounts limits',
    examples: [
      'sluice tasks accounts limits acme in_flight=50 retain_other=48h',
      'sluice tasks accounts limits acme in_flight=default',
    ],
    takes: 'DOMAIN NAME=VALUE...',
    summary: 'change limits of an account: in_flight=50, or in_flight=default',
    flags: SERVICE_FLAGS,
    run: changeLimits,
  },
  {
    name: 'accounts owner-token',
    examples: ['eval "$(sluice tasks accounts owner-token acme --export)"'],
    takes: 'DOMAIN',
    summary: 'create a token for the first owner of an account that has lost its own',
    flags: OWNER_TOKEN_FLAGS,
    run: createOwnerToken,
  },
  {
    name: 'accounts delete',
    examples: ['sluice tasks accounts delete acme'],
    takes: 'DOMAIN',
    summary: 'delete an account and everything in it',
    flags: DELETE_ACCOUNT_FLAGS,
    run: deleteAccount,
  },
];

async function listAccounts(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, SERVICE_FLAGS);
  noArguments(positionals);
  const accounts = await allOf(operatorOf(flags, io), '/accounts', new URLSearchParams(), Infinity);
  if (flags.json) printJson(accounts, io);
  else if (accounts.length === 0)
    printLine('There are no accounts. "sluice tasks accounts create" creates one.', io);
  else {
    const rows = accounts.map(({ domain, status, created_at: created, api_url: url }) =>
      [domain, status, timeText(created), url].map(String),
    );
    printTable(['DOMAIN', 'STATUS', 'CREATED', 'ADDRESS'], rows, io);
  }
  return EXIT.done;
}

async function showAccount(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, SERVICE_FLAGS);
  const path = pathOf(onlyArgument(positionals, DOMAIN));
  const account = await callApi(operatorOf(flags, io), { method: 'GET', path });
  if (flags.json) printJson(account, io);
  else {
    const { limits, use, changed_limits: changed, ...rest } = account;
    printFields(rest, io);
    io.stdout('\n');
    printLimits({ limits, use, changed }, io);
  }
  return EXIT.done;
}

async function setStatus(
  args: readonly string[],
  io: CliIo,
  status: 'active' | 'suspended',
  word: string,
): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, SERVICE_FLAGS);
  const domain = onlyArgument(positionals, DOMAIN);
  const account = await callApi(operatorOf(flags, io), {
    method: 'PATCH',
    path: pathOf(domain),
    body: { status },
  });
  report(account, `${domain} ${word}`, flags, io);
  return EXIT.done;
}

async function changeLimits(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, SERVICE_FLAGS);
  const [domain, ...texts] = positionals;
  if (domain === undefined) throw new UsageFault(`missing argument: ${DOMAIN}.`);
  if (texts.length === 0)
    throw new UsageFault(
      'missing argument: the limits to change, such as in_flight=50 or in_flight=default.',
    );
  const limits = Object.fromEntries(texts.map(readLimit));
  const account = await callApi(operatorOf(flags, io), {
    method: 'PATCH',
    path: pathOf(domain),
    body: { limits },
  });
  if (flags.json) printJson(account, io);
  else
    printLimits({ limits: account['limits'], use: account['use'], changed: account['changed_limits'] }, io);
  return EXIT.done;
}

/** `in_flight=50`, `retain_other=48h`, `in_flight=default` */
function readLimit(text: string): readonly [string, string | number | null] {
  const [, name, value] = /^([a-z_]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined)
    throw new UsageFault(
      `invalid limit "${text}". Write NAME=VALUE, such as in_flight=50 or in_flight=default.`,
    );
  if (value === 'default') return [name, null];
  return [name, /^\d{1,15}$/.test(value) ? Number(value) : value];
}

async function createOwnerToken(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, OWNER_TOKEN_FLAGS);
  const domain = onlyArgument(positionals, DOMAIN);
  if (flags.json && flags.export) throw new UsageFault('--json and --export cannot be combined.');
  const target = operatorOf(flags, io);
  const account = await callApi(target, { method: 'GET', path: pathOf(domain) });
  const made = await callApi(target, {
    method: 'POST',
    path: `${pathOf(domain)}/owner-token`,
    idempotencyKey: randomUUID(),
  });
  if (flags.json) printJson(made, io);
  else {
    const apiUrl = String(account['api_url']);
    const url = URL.canParse(apiUrl) ? new URL(apiUrl).origin : apiUrl;
    const until = `It is the token of ${made['user_id']} and expires at ${timeText(made['expires_at'])}`;
    if (!flags.export) printLine(`${until}. It is shown only once:`, io);
    io.stdout(shellExports({ SLUICE_URL: url, SLUICE_TOKEN: String(made['token']) }));
  }
  return EXIT.done;
}

async function deleteAccount(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, DELETE_ACCOUNT_FLAGS);
  const domain = onlyArgument(positionals, DOMAIN);
  const target = operatorOf(flags, io);
  await confirm(`delete the account ${domain} with all of its tasks, workers and users`, flags, io);
  const account: Json = await callApi(target, { method: 'DELETE', path: pathOf(domain) });
  const where = `"sluice tasks accounts show ${domain}" shows the progress`;
  report(account, `${domain} is being deleted; ${where}`, flags, io);
  return EXIT.done;
}

function pathOf(domain: string): string {
  return `/accounts/${encodeURIComponent(domain)}`;
}

/** `sluice tasks accounts create DOMAIN`, and `create-account` */
async function createAccount(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_ACCOUNT_FLAGS);
  const domain = onlyArgument(positionals, 'domain of the account');
  if (flags.json && flags.export) throw new UsageFault('--json and --export cannot be combined.');
  const target = serviceOf(flags, io);
  const account = await callApi(target, {
    method: 'POST',
    path: '/accounts',
    body: { domain },
    idempotencyKey: randomUUID(),
  });
  if (flags.json) {
    io.stdout(`${JSON.stringify(account)}\n`);
    return EXIT.done;
  }
  const apiUrl = String(account['api_url']);
  if (!URL.canParse(apiUrl)) throw strangeAnswer(target, 'with unexpected JSON');
  const url = new URL(apiUrl).origin;
  const exports = shellExports({ SLUICE_URL: url, SLUICE_TOKEN: String(account['token']) });
  if (!flags.export) {
    const where = printable(`${account['domain']} is at ${url}.`);
    io.stdout(`${where} The token of its owner is shown only once:\n\n`);
  }
  io.stdout(exports);
  return EXIT.done;
}
