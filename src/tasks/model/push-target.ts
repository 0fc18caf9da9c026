/**
 * A task that names its own URL keeps it beside its headers, as a pseudo-header field: requests of HTTP/2 carry their
 * target in the same way. Tenants cannot set a header with this name, and it is never sent as one.
 */
const TARGET = ':url';

type Headers = Readonly<Record<string, string>>;

/** The headers of a task that is pushed to this URL; null for the URL of its worker. */
export function withTarget(headers: Headers, url: string | null): Headers {
  return url === null ? headers : { ...headers, [TARGET]: url };
}

/** The URL that a task names; null for the URL of its worker. */
export function targetOf(headers: Headers): string | null {
  return headers[TARGET] ?? null;
}

/** The headers as the tenant gave them. */
export function withoutTarget(headers: Headers): Headers {
  if (targetOf(headers) === null) return headers;
  const { [TARGET]: _, ...rest } = headers;
  return rest;
}
