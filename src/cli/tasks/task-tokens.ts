import { randomUUID } from 'node:crypto';
import { UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { CREATE_TOKEN_FLAGS } from './command/admin-flags.ts';
import { allOf } from './command/pages.ts';
import { shellExports } from './command/shell-exports.ts';
import { onlyArgument, targetOf, twoArguments } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import type { TasksCommand } from './command/tasks-command.ts';
import { COMMON_FLAGS } from './command/tasks-flags.ts';
import { printJson, printLine, printTable, report, timeText } from './command/tasks-output.ts';
import { USER, userPath } from './task-users.ts';

/** `sluice tasks tokens`: those of users. */
export const TOKEN_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'tokens list',
    takes: 'USER',
    summary: 'list the tokens of a user, without their texts',
    flags: COMMON_FLAGS,
    run: listTokens,
  },
  {
    name: 'tokens create',
    takes: 'USER',
    summary: 'create a token, and show it once',
    flags: CREATE_TOKEN_FLAGS,
    run: createToken,
  },
  {
    name: 'tokens delete',
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
    printLine('The user has no tokens. "sluice tasks tokens create" makes one.', io);
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
  if (flags.json && flags.export) throw new UsageFault('--json and --export exclude each other.');
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
    const about = `${token['id']}  expires ${timeText(token['expires_at'])}. Shown only this once:`;
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
