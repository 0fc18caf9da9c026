import { UsageFault } from '../../terminal/command-fault.ts';
import type { CliIo } from '../../terminal/io.ts';
import type { ApiTarget } from './tasks-api.ts';

/** The tenant that the flag or the environment names, and the token of the environment. */
export function targetOf(flags: { readonly url: string }, io: CliIo): ApiTarget {
  const url = flags.url !== '' ? flags.url : (io.env['SLUICE_URL'] ?? '');
  if (url === '') {
    throw new UsageFault('no tenant is named: set SLUICE_URL or give --url (http://acme.localhost:8080).');
  }
  const token = io.env['SLUICE_TOKEN'] ?? '';
  if (token === '') {
    throw new UsageFault(
      'there is no token: set SLUICE_TOKEN. "sluice tasks create-account" shows the first one of a tenant.',
    );
  }
  return { url, token, namedBy: '--url or SLUICE_URL' };
}

/** The service itself, asked as its operator. The token is empty where the environment has none. */
export function serviceOf(flags: { readonly service: string }, io: CliIo): ApiTarget {
  const url = flags.service !== '' ? flags.service : (io.env['SLUICE_SERVICE'] ?? 'http://localhost:8080');
  const token = io.env['ACCOUNTS_OPERATOR_TOKEN'] ?? '';
  return { url, token, namedBy: '--service or SLUICE_SERVICE' };
}

/** The service, for what only its operator may do. @throws UsageFault */
export function operatorOf(flags: { readonly service: string }, io: CliIo): ApiTarget {
  const target = serviceOf(flags, io);
  if (target.token !== '') return target;
  throw new UsageFault('only the operator may do this: set ACCOUNTS_OPERATOR_TOKEN as the service has it.');
}

/**
 * The only argument.
 *
 * @param what a word for it, for the message
 */
export function onlyArgument(positionals: readonly string[], what: string): string {
  if (positionals.length === 1) return positionals[0];
  throw new UsageFault(
    positionals.length === 0 ? `the ${what} is missing.` : `"${positionals[1]}" is one argument too many.`,
  );
}

/**
 * The only two arguments.
 *
 * @param what words for them, for the message
 */
export function twoArguments(
  positionals: readonly string[],
  what: readonly [string, string],
): readonly [string, string] {
  const [first, second, ...rest] = positionals;
  if (first === undefined) throw new UsageFault(`the ${what[0]} is missing.`);
  return [first, onlyArgument(second === undefined ? [] : [second, ...rest], what[1])];
}

export function noArguments(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageFault(`"${positionals[0]}" is one argument too many.`);
}
