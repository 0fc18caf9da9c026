import type { LimitClient } from '../client.ts';
import { type Ask, canBeCopied, responseTo } from './response.ts';

/**
 * Limits a handler that turns a `Request` into a `Response`. Further arguments of the handler are passed on.
 *
 * @param ask what to ask about a request; null if it is not limited
 */
export function limitFetch<Rest extends unknown[]>(
  client: LimitClient,
  ask: Ask<Request>,
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => {
    const limited = await responseTo(client, ask, request);
    if (limited === null) return handler(request, ...rest);
    const { rejection, headers } = limited;
    if (rejection !== null) return new Response(rejection.body, { status: rejection.status, headers });
    const given = await handler(request, ...rest);
    if (!canBeCopied(given)) return given;
    // The headers of some responses cannot be changed, such as those of `fetch`.
    const response = new Response(given.body, given);
    for (const [name, value] of headers) response.headers.set(name, value);
    return response;
  };
}
