import type { LimitClient } from '../client.ts';
import { type Ask, canBeCopied, responseTo } from './response.ts';

/** What is needed of the context of Hono. */
interface Context {
  readonly res: Response;
  header(name: string, value: string): void;
}

/**
 * A middleware of Hono.
 *
 * @param ask what to ask about the request of a context; null if it is not limited
 */
export function limitHono<C extends Context>(
  client: LimitClient,
  ask: Ask<C>,
): (context: C, next: () => Promise<void>) => Promise<Response | undefined> {
  return async (context, next) => {
    const limited = await responseTo(client, ask, context);
    if (limited !== null && limited.rejection !== null) {
      const { rejection, headers } = limited;
      return new Response(rejection.body, { status: rejection.status, headers });
    }
    await next();
    // Hono copies a response to change its headers.
    if (limited === null || !canBeCopied(context.res)) return undefined;
    for (const [name, value] of limited.headers) context.header(name, value);
    return undefined;
  };
}
