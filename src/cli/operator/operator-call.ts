import { readFileSync } from 'node:fs';
import { HOUR_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { duration } from '../../settings/kinds/kinds.ts';
import { readFlag, textFlag } from '../terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from '../terminal/io.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The flag for the address of the debug port, where the operator's API is. */
export const DEBUG_ADDRESS = textFlag(
  'HOST:PORT',
  'address of the debug port of the service',
  'localhost:6070',
);

/** @param path below `/api/v1`, with its query */
export type OperatorApi = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: Json,
) => Promise<Json>;

/**
 * The operator's API of the service that the flags name. Changes are sent with the token of `ADMIN_TOKEN` or
 * `ADMIN_TOKEN_FILE`.
 *
 * Calls throw CommandFault with the problem that the service reports, or the reason why there is no answer.
 *
 * @throws UsageFault if the text of the timeout is not a duration
 */
export function operatorApi(
  { env }: Pick<CliIo, 'env'>,
  flags: { readonly 'debug-address': string; readonly timeout: string },
): OperatorApi {
  const address = flags['debug-address'];
  const timeoutMs = timeoutOf(flags.timeout);
  return async (method, path, body) => {
    const token = method === 'GET' ? '' : adminToken(env);
    const { status, text } = await askDebugPort(address, `/api/v1${path}`, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        connection: 'close',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = parsedObject(text);
    if ((status === 200 || status === 201) && answer !== null) return answer;
    if (typeof answer?.['detail'] === 'string') {
      throw new CommandFault(`${address} refused: ${printable(answer['detail'])}`);
    }
    throw new CommandFault(
      `${address} answered with HTTP status ${status}. Is it the debug port of the service? Change the address with ` +
        '--debug-address.',
    );
  };
}

/** Prints an answer: as one line of JSON with `--json`, else as a text. Returns the exit status. */
export function printAnswer(
  io: CliIo,
  { json }: { readonly json: boolean },
  answer: Json,
  text: () => string,
): number {
  io.stdout(json ? `${JSON.stringify(answer)}\n` : text());
  return EXIT.done;
}

/** @throws CommandFault if a part of an answer is no list */
export function listOf(part: unknown): readonly Json[] {
  if (Array.isArray(part)) return part;
  throw new CommandFault('the service answered with unexpected JSON.');
}

/** The entries of the descriptor in `--descriptors`: a comma ends a pair, and the first "=" ends a key. */
export function entriesOf(descriptor: string): readonly Json[] {
  return descriptor.split(',').map(pair => {
    const at = pair.indexOf('=');
    return at < 0 ? { key: pair } : { key: pair.slice(0, at), value: pair.slice(at + 1) };
  });
}

/** @throws UsageFault if one of these flags is missing */
export function requireFlags<N extends string>(
  flags: Readonly<Record<N, string>>,
  names: readonly N[],
): void {
  for (const name of names) if (flags[name] === '') throw new UsageFault(`--${name} is missing.`);
}

/** Reads `--timeout`. */
export function timeoutOf(text: string): number {
  return readFlag('timeout', text, duration({ min: 1, max: HOUR_MS }));
}

/** @throws UsageFault if the text is not an address */
export function debugPortUrl(address: string, path: string): string {
  const url = `http://${address}${path}`;
  if (URL.canParse(url)) return url;
  throw new UsageFault(
    `"${address}" is not a valid address. Write --debug-address as host:port, such as localhost:6070.`,
  );
}

/** There is no answer from the debug port. Perhaps there is one later. */
export class NoAnswer extends CommandFault {}

/**
 * Sends a request to the debug port of a service.
 *
 * @throws NoAnswer with the reason
 */
export async function askDebugPort(
  address: string,
  path: string,
  request: RequestInit,
): Promise<{ readonly status: number; readonly text: string }> {
  const url = debugPortUrl(address, path);
  try {
    const response = await fetch(url, request);
    return { status: response.status, text: await response.text() };
  } catch (failure) {
    throw new NoAnswer(
      `no response from ${address}: ${reasonOf(failure)}. Is the service running, and is this its debug port? Change the address ` +
        'with --debug-address.',
      { cause: failure },
    );
  }
}

/** Why a connection failed or ended, for people. */
export function reasonOf(failure: unknown): string {
  const { cause } = asError(failure);
  return printable(asError(cause ?? failure).message);
}

/** Null if the text is not JSON, or no object. */
export function parsedObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : null;
  } catch {
    return null;
  }
}

/** Empty without a token; the service then says what is missing. */
function adminToken(env: CliIo['env']): string {
  const { ADMIN_TOKEN: token = '', ADMIN_TOKEN_FILE: path = '' } = env;
  if (token !== '' || path === '') return token;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (failure) {
    throw new CommandFault(`cannot read ADMIN_TOKEN_FILE: ${asError(failure).message}`, { cause: failure });
  }
}
