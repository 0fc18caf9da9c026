import { randomUUID } from 'node:crypto';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';
import { type ApiTarget, allOf, callApi, type Json } from './tasks-api.ts';
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
  timeText,
  twoArguments,
} from './tasks-command.ts';
import { COMMON_FLAGS, TEXT } from './tasks-flags.ts';

const USER_FLAGS = {
  ...COMMON_FLAGS,
  name: { ...TEXT, placeholder: 'TEXT', help: 'name of the user' },
  role: { ...TEXT, placeholder: 'WORD', help: 'owner, admin, member or viewer' },
  status: { ...TEXT, placeholder: 'WORD', help: 'invited, active or disabled' },
  'external-id': { ...TEXT, placeholder: 'TEXT', help: 'id of the user at the identity provider' },
} as const;

const UPDATE_USER_FLAGS = {
  ...USER_FLAGS,
  email: { ...TEXT, placeholder: 'ADDRESS', help: 'new email address of the user' },
} as const;

const EXPORT_TOKEN = {
  kind: 'switch',
  help: 'print only a shell command that sets SLUICE_TOKEN',
} as const;

const CREATE_TOKEN_FLAGS = {
  ...COMMON_FLAGS,
  name: { ...TEXT, placeholder: 'TEXT', help: 'description of the token' },
  scopes: {
    ...TEXT,
    placeholder: 'LIST',
    help: 'restrict the token to these scopes of the role: tasks:read,tasks:write (default: all)',
  },
  'expires-at': {
    ...TEXT,
    placeholder: 'TIME',
    help: 'time at which the token expires (default: in 90 days)',
  },
  export: EXPORT_TOKEN,
} as const;

const USER = 'id or email of the user';
const BY = 'USER is an id (usr_…) or an email address.';

/** `sluice tasks users` */
export const USER_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'users list',
    examples: ['sluice tasks users list'],
    takes: '',
    summary: 'list users',
    flags: COMMON_FLAGS,
    run: listUsers,
  },
  {
    name: 'users create',
    examples: ['sluice tasks users create ann@example.com --name Ann --role member'],
    takes: 'EMAIL',
    summary: 'create a user; create a token for the user with "tokens create"',
    flags: USER_FLAGS,
    run: createUser,
  },
  {
    name: 'users show',
    examples: ['sluice tasks users show ann@example.com'],
    takes: 'USER',
    summary: 'show a user',
    flags: COMMON_FLAGS,
    notes: BY,
    run: showUser,
  },
  {
    name: 'users update',
    examples: ['sluice tasks users update ann@example.com --role admin'],
    takes: 'USER',
    summary: 'change the fields given by flags',
    flags: UPDATE_USER_FLAGS,
    notes: BY,
    run: updateUser,
  },
  {
    name: 'users delete',
    examples: ['sluice tasks users delete ann@example.com'],
    takes: 'USER',
    summary: 'delete a user with all tokens of the user',
    flags: COMMON_FLAGS,
    notes: BY,
    run: deleteUser,
  },
];

/**
 * The path of a user. An email address is looked up in the list of users.
 *
 * @throws CommandFault if no user has this email address
 */
async function userPath(target: ApiTarget, text: string): Promise<string> {
  if (!text.includes('@')) return `/api/v1/users/${encodeURIComponent(text)}`;
  const users = await allOf(target, '/api/v1/users', new URLSearchParams(), Infinity);
  const user = users.find(({ email }) => String(email).toLowerCase() === text.toLowerCase());
  if (user === undefined)
    throw new CommandFault(
      `no user has the email address ${text}. "sluice tasks users list" lists the users.`,
    );
  return `/api/v1/users/${encodeURIComponent(String(user['id']))}`;
}

async function listUsers(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  noArguments(positionals);
  const users = await allOf(targetOf(flags, io), '/api/v1/users', new URLSearchParams(), Infinity);
  if (flags.json) printJson(users, io);
  else {
    const rows = users.map(user => [
      ...['email', 'role', 'status', 'id', 'name'].map(name => String(user[name])),
      timeText(user['last_seen_at']),
    ]);
    printTable(['EMAIL', 'ROLE', 'STATUS', 'ID', 'NAME', 'LAST SEEN'], rows, io);
  }
  return EXIT.done;
}

async function createUser(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, USER_FLAGS);
  const email = onlyArgument(positionals, 'email of the user');
  const user = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: '/api/v1/users',
    body: { email, ...userFields(flags) },
    idempotencyKey: randomUUID(),
  });
  report(user, `${user['id']}  ${user['email']}  ${user['role']}`, flags, io);
  return EXIT.done;
}

async function showUser(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const text = onlyArgument(positionals, USER);
  const target = targetOf(flags, io);
  const user = await callApi(target, { method: 'GET', path: await userPath(target, text) });
  if (flags.json) printJson(user, io);
  else printFields(user, io);
  return EXIT.done;
}

async function updateUser(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, UPDATE_USER_FLAGS);
  const text = onlyArgument(positionals, USER);
  const body = { ...userFields(flags), ...(flags.email !== '' && { email: flags.email }) };
  if (Object.keys(body).length === 0)
    throw new UsageFault('nothing to change: give at least one flag, such as --role admin.');
  const target = targetOf(flags, io);
  const user = await callApi(target, { method: 'PUT', path: await userPath(target, text), body });
  report(user, `${text} changed`, flags, io);
  return EXIT.done;
}

async function deleteUser(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const text = onlyArgument(positionals, USER);
  const target = targetOf(flags, io);
  await callApi(target, { method: 'DELETE', path: await userPath(target, text) });
  report({ deleted: text }, `${text} deleted, with all tokens`, flags, io);
  return EXIT.done;
}

function userFields(flags: Readonly<Record<'name' | 'role' | 'status' | 'external-id', string>>): Json {
  const { name, role, status } = flags;
  const texts = { name, role, status, external_id: flags['external-id'] };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

/** `sluice tasks tokens`: tokens of users. */
export const TOKEN_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'tokens list',
    examples: ['sluice tasks tokens list ann@example.com'],
    takes: 'USER',
    summary: 'list the tokens of a user, without their values',
    flags: COMMON_FLAGS,
    run: listTokens,
  },
  {
    name: 'tokens create',
    examples: ['sluice tasks tokens create ann@example.com --name ci --scopes tasks:read'],
    takes: 'USER',
    summary: 'create a token and print it once',
    flags: CREATE_TOKEN_FLAGS,
    run: createToken,
  },
  {
    name: 'tokens delete',
    examples: ['sluice tasks tokens delete ann@example.com tok_01hzxa'],
    takes: 'USER TOKEN',
    summary: 'delete a token by its id (tok_…)',
    flags: COMMON_FLAGS,
    run: deleteToken,
  },
];

async function listTokens(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const user = onlyArgument(positionals, USER);
  const target = targetOf(flags, io);
  const path = `${await userPath(target, user)}/tokens`;
  const tokens = await allOf(target, path, new URLSearchParams(), Infinity);
  if (flags.json) printJson(tokens, io);
  else if (tokens.length === 0)
    printLine('The user has no tokens. "sluice tasks tokens create" creates one.', io);
  else printTable(['ID', 'NAME', 'EXPIRES', 'LAST USED', 'SCOPES'], tokens.map(cells), io);
  return EXIT.done;
}

function cells(token: Json): string[] {
  const scopes = token['scopes'] as readonly string[] | null;
  return [
    String(token['id']),
    String(token['name']),
    timeText(token['expires_at']),
    timeText(token['last_used_at']),
    scopes === null ? 'all of the role' : scopes.join(','),
  ];
}

async function createToken(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_TOKEN_FLAGS);
  const user = onlyArgument(positionals, USER);
  if (flags.json && flags.export) throw new UsageFault('--json and --export cannot be combined.');
  const { name, scopes } = flags;
  const target = targetOf(flags, io);
  const token = await callApi(target, {
    method: 'POST',
    path: `${await userPath(target, user)}/tokens`,
    body: {
      ...(name !== '' && { name }),
      ...(scopes !== '' && { scopes: scopes.split(',') }),
      ...(flags['expires-at'] !== '' && { expires_at: flags['expires-at'] }),
    },
    idempotencyKey: randomUUID(),
  });
  if (flags.json) printJson(token, io);
  else {
    const about = `${token['id']}  expires ${timeText(token['expires_at'])}. Shown only once:`;
    if (!flags.export) printLine(about, io);
    io.stdout(shellExports({ SLUICE_TOKEN: String(token['token']) }));
  }
  return EXIT.done;
}

async function deleteToken(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, COMMON_FLAGS);
  const [user, id] = twoArguments(positionals, [USER, 'id of the token']);
  const target = targetOf(flags, io);
  const path = `${await userPath(target, user)}/tokens/${encodeURIComponent(id)}`;
  await callApi(target, { method: 'DELETE', path });
  report({ deleted: id }, `${id} deleted`, flags, io);
  return EXIT.done;
}
