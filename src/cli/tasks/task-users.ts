import { randomUUID } from 'node:crypto';
import { CommandFault, UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { UPDATE_USER_FLAGS, USER_FLAGS } from './command/admin-flags.ts';
import { allOf } from './command/pages.ts';
import { noArguments, onlyArgument, targetOf } from './command/target.ts';
import { type ApiTarget, callApi, type Json } from './command/tasks-api.ts';
import type { TasksCommand } from './command/tasks-command.ts';
import { COMMON_FLAGS } from './command/tasks-flags.ts';
import { printFields, printJson, printTable, report, timeText } from './command/tasks-output.ts';

export const USER = 'id or email of the user';
const BY = 'USER is an id (usr_…) or an email address.';

/** `sluice tasks users` */
export const USER_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'users list',
    takes: '',
    summary: 'list users',
    flags: COMMON_FLAGS,
    run: listUsers,
  },
  {
    name: 'users create',
    takes: 'EMAIL',
    summary: 'create a user; "tokens create" then makes a token',
    flags: USER_FLAGS,
    run: createUser,
  },
  {
    name: 'users show',
    takes: 'USER',
    summary: 'one user',
    flags: COMMON_FLAGS,
    notes: BY,
    run: showUser,
  },
  {
    name: 'users update',
    takes: 'USER',
    summary: 'change what the flags say',
    flags: UPDATE_USER_FLAGS,
    notes: BY,
    run: updateUser,
  },
  {
    name: 'users delete',
    takes: 'USER',
    summary: 'delete a user with all tokens of the user',
    flags: COMMON_FLAGS,
    notes: BY,
    run: deleteUser,
  },
];

/**
 * The path of a user. An email address takes a look at the list of users.
 *
 * @throws CommandFault when no user has this address
 */
export async function userPath(target: ApiTarget, text: string): Promise<string> {
  if (!text.includes('@')) return `/api/v1/users/${encodeURIComponent(text)}`;
  const users = await allOf(target, '/api/v1/users', new URLSearchParams(), Infinity);
  const user = users.find(({ email }) => String(email).toLowerCase() === text.toLowerCase());
  if (user === undefined)
    throw new CommandFault(`no user has the address ${text}. "sluice tasks users list" shows all.`);
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
  if (Object.keys(body).length === 0) throw new UsageFault('say what to change, as --role admin.');
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
