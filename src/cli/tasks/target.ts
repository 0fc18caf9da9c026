import { UsageFault } from '../command-fault.ts';
import type { CliIo } from '../io.ts';
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
  return { url, token };
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

export function noArguments(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageFault(`"${positionals[0]}" is one argument too many.`);
}
