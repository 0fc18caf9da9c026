import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimitClient } from '../client.ts';
import { type Ask, responseTo } from './response.ts';

/**
 * A middleware of Express, and of other frameworks on `node:http` with the same form. Errors of `ask` are passed on.
 *
 * @param ask what to ask about a request; null if it is not limited
 */
export function limitExpress<Incoming extends IncomingMessage = IncomingMessage>(
  client: LimitClient,
  ask: Ask<Incoming>,
): (request: Incoming, response: ServerResponse, next: (error?: unknown) => void) => void {
  return (request, response, next) => {
    responseTo(client, ask, request)
      .then(limited => {
        for (const [name, value] of limited?.headers ?? []) response.setHeader(name, value);
        const rejection = limited?.rejection ?? null;
        if (rejection === null) return true;
        response.statusCode = rejection.status;
        response.end(rejection.body);
        return false;
      })
      .then(
        // Outside of the promise: what the next middleware throws is not a rejection that nobody handles.
        mayProceed => {
          if (mayProceed) process.nextTick(next);
        },
        error => process.nextTick(next, error),
      );
  };
}
