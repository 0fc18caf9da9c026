import type { ServiceProcess } from './service.ts';

/** The token of operators. */
export const ADMIN_TOKEN = 'a-token-of-thirty-two-characters';

/** Calls a route of the operator's API of a service, with the token. */
export async function callOperator(service: ServiceProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(`http://${service.debug}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any part of an answer.
  return { status: response.status, json: (await response.json()) as any };
}
