import type { LimitClient } from '../client.ts';
import { type Decision, decidingStatus } from '../decision.ts';
import type { LimitRequest } from '../request.ts';

/** What to ask about a request; null if it is not limited. */
export type Ask<Request> = (request: Request) => LimitRequest | null | Promise<LimitRequest | null>;

/** What a decision means for the response of a handler. */
interface LimitResponse {
  /** The response of a request that is rejected; null for one that may proceed. */
  readonly rejection: { readonly status: number; readonly body: string } | null;
  /** Header fields of the response, whether it is a rejection or that of the handler. */
  readonly headers: Headers;
}

const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

/** Asks about a request. Null if it is not limited. */
export async function responseTo<Request>(
  client: LimitClient,
  ask: Ask<Request>,
  request: Request,
): Promise<LimitResponse | null> {
  const asked = await ask(request);
  if (asked === null) return null;
  const decision = await client.decide(asked);
  const headers = headersOf(decision);
  if (decision.allowed) return { rejection: null, headers };
  const status = decision.failed ? SERVICE_UNAVAILABLE : TOO_MANY_REQUESTS;
  if (!headers.has('retry-after')) headers.set('retry-after', String(decision.retryAfterS));
  if (!headers.has('content-type')) headers.set('content-type', 'text/plain; charset=utf-8');
  const body = decision.body || (decision.failed ? 'Service unavailable\n' : 'Too many requests\n');
  return { rejection: { status, body }, headers };
}

/** Whether `new Response` accepts the status of a response. `Response.error()` has 0, and an upgraded connection 101. */
export function canBeCopied({ status }: Response): boolean {
  return status >= 200 && status <= 599;
}

/**
 * The headers of the service. If the rules do not enable `ratelimit_headers`, the limit that decides is described in the
 * same form.
 */
function headersOf(decision: Decision): Headers {
  const headers = new Headers();
  for (const [name, value] of decision.headers) headers.append(name, value);
  const {
    limit = null,
    remaining = 0,
    resetS = null,
  } = decidingStatus(decision.statuses, decision.allowed) ?? {};
  if (limit === null || headers.has('ratelimit')) return headers;
  const policy = policyName(limit.name);
  const reset = resetS === null ? '' : `;t=${Math.ceil(resetS)}`;
  headers.set('ratelimit-policy', `${policy};q=${limit.requestsPerUnit}`);
  headers.set('ratelimit', `${policy};r=${remaining}${reset}`);
  return headers;
}

/** The name of a limit as a String of structured fields (RFC 9651). Limits without a name have one in common. */
function policyName(name: string): string {
  return /^[\x20-\x7e]{1,128}$/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : '"default"';
}
