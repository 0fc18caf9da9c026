import { randomUUID } from 'node:crypto';
import { printable } from '../../base/printable.ts';
import { UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { shellExports } from './command/shell-exports.ts';
import { onlyArgument, serviceOf } from './command/target.ts';
import { callApi, strangeAnswer } from './command/tasks-api.ts';
import { CREATE_ACCOUNT_FLAGS } from './command/tasks-flags.ts';

/** `sluice tasks accounts create DOMAIN`, and `create-account` */
export async function createAccount(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CREATE_ACCOUNT_FLAGS);
  const domain = onlyArgument(positionals, 'domain of the account');
  if (flags.json && flags.export) throw new UsageFault('--json and --export exclude each other.');
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
  if (!URL.canParse(apiUrl)) throw strangeAnswer(target, 'with JSON, but with nothing');
  const url = new URL(apiUrl).origin;
  const exports = shellExports({ SLUICE_URL: url, SLUICE_TOKEN: String(account['token']) });
  if (!flags.export) {
    const where = printable(`${account['domain']} is at ${url}.`);
    io.stdout(`${where} Its owner's token is shown only this once:\n\n`);
  }
  io.stdout(exports);
  return EXIT.done;
}
