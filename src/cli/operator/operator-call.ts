import { readFileSync } from 'node:fs';
import { asError } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { type CliIo, CommandFault, UsageFault } from '../terminal/io.ts';

export type Json = Readonly<Record<string, unknown>>;

interface OperatorRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`, with its query. */
  readonly path: string;
  readonly body?: Json;
}

/** Where the operator's API is, and how long to wait for it. */
interface OperatorTarget {
  /** `host:port` of the debug port. */
  readonly address: string;
  readonly timeoutMs: number;
}

/**
 * Calls the operator's API of a running service, with the token of `ADMIN_TOKEN` or `ADMIN_TOKEN_FILE` for changes.
 *
 * @throws CommandFault with the problem that the service reports, or the reason why there is no answer
 */
export async function callOperatorApi(
  io: Pick<CliIo, 'env'>,
  { address, timeoutMs }: OperatorTarget,
  { method, path, body }: OperatorRequest,
): Promise<Json> {
  const url = `http://${address}/api/v1${path}`;
  if (!URL.canParse(url)) {
    throw new UsageFault(
      `"${address}" is not a valid address. Write --debug-address as host:port, such as localhost:6070.`,
    );
  }
  const token = method === 'GET' ? '' : adminToken(io.env);
  const { status, text } = await send(url, address, {
    method,
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      connection: 'close',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = parsed(text);
  if ((status === 200 || status === 201) && answer !== null) return answer;
  if (typeof answer?.['detail'] === 'string') {
    throw new CommandFault(`${address} refused: ${printable(answer['detail'])}`);
  }
  throw new CommandFault(
    `${address} answered with HTTP status ${status}. Is it the debug port of the service? Change the address with ` +
      '--debug-address.',
  );
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

async function send(
  url: string,
  address: string,
  request: RequestInit,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, request);
    return { status: response.status, text: await response.text() };
  } catch (failure) {
    const { cause } = asError(failure);
    const reason = printable(asError(cause ?? failure).message);
    throw new CommandFault(
      `no response from ${address}: ${reason}. Is the service running, and is this its debug port? Change the address ` +
        'with --debug-address.',
      { cause: failure },
    );
  }
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : null;
  } catch {
    return null;
  }
}
