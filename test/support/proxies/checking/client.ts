import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { RECEIVED } from '../website.ts';

/** What a client of a proxy gets. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The `RateLimit` header of a request that Sluice has decided. */
  readonly rateLimit: string | undefined;
}

/** Asks the proxy at `host:port`, on a connection of its own. */
export async function ask(
  address: string,
  path: string,
  { body, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<Reply> {
  const asking = request(`http://${address}${path}`, { agent: false, ...options });
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const { statusCode = 0, headers } = response;
  const rateLimit = headers['ratelimit'] ?? headers[RECEIVED];
  return { status: statusCode, headers, body: await text(response), rateLimit: rateLimit as string };
}

/** The status of each reply. */
export function statusesOf(replies: readonly Reply[]): readonly number[] {
  return replies.map(({ status }) => status);
}

/** Asks several times, one after the other. */
export async function askTimes(count: number, ...asked: Parameters<typeof ask>): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let i = 0; i < count; i++) replies.push(await ask(...asked));
  return replies;
}
