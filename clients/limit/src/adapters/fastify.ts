import type { LimitClient } from '../client.ts';
import { type Ask, responseTo } from './response.ts';

/** What is needed of the reply of Fastify. */
interface Reply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body: string): unknown;
}

/**
 * A hook of Fastify: `app.addHook('onRequest', …)`, or `onRequest` of a route.
 *
 * @param ask what to ask about a request; null if it is not limited
 */
export function limitFastify<Incoming>(
  client: LimitClient,
  ask: Ask<Incoming>,
): (request: Incoming, reply: Reply) => Promise<unknown> {
  return async (request, reply) => {
    const limited = await responseTo(client, ask, request);
    for (const [name, value] of limited?.headers ?? []) reply.header(name, value);
    const rejection = limited?.rejection ?? null;
    if (rejection === null) return undefined;
    reply.code(rejection.status);
    // A hook that returns the reply has answered the request.
    return reply.send(rejection.body);
  };
}
