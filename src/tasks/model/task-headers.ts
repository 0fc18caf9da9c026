import { readTraceContext, type TraceContext } from '../../base/trace-context.ts';

/**
 * What a task has beside the headers that its tenant gave, in pseudo-header fields: requests of HTTP/2 carry their target in
 * the same way. Tenants cannot set headers with these names, and they are never sent as headers.
 */
const TARGET = ':url';
const TRACE = ':trace';
const PSEUDO: readonly string[] = [TARGET, TRACE];

type Headers = Readonly<Record<string, string>>;

interface Beside {
  /** The URL that the task is pushed to; null for the URL of its worker. */
  readonly url?: string | null;
  /** The trace context of the call that created the task; null for none. */
  readonly trace?: TraceContext | null;
}

/** The headers of a task as stores keep them. */
export function keptHeaders(given: Headers, { url = null, trace = null }: Beside): Headers {
  return {
    ...given,
    ...(url !== null && { [TARGET]: url }),
    ...(trace !== null && { [TRACE]: `${trace.traceparent} ${trace.tracestate}` }),
  };
}

/** Replaces the headers that the tenant gave, and keeps what is beside them. */
export function withGivenHeaders(kept: Headers, given: Headers): Headers {
  return keptHeaders(given, { url: targetOf(kept), trace: traceOf(kept) });
}

/** The headers as the tenant gave them. */
export function givenHeaders(kept: Headers): Headers {
  if (PSEUDO.every(name => kept[name] === undefined)) return kept;
  return Object.fromEntries(Object.entries(kept).filter(([name]) => !PSEUDO.includes(name)));
}

/** The trace context as text, for the callback of a task; null for none. */
export function traceTextOf(kept: Headers): string | null {
  return kept[TRACE] ?? null;
}

/** The headers of a callback, which has the trace context of the task that has ended. */
export function callbackHeaders(traceText: string | undefined): Headers {
  return traceText === undefined ? {} : { [TRACE]: traceText };
}

/** The URL that a task names; null for the URL of its worker. */
export function targetOf(kept: Headers): string | null {
  return kept[TARGET] ?? null;
}

/** The trace context of the call that created a task; null for none. */
export function traceOf(kept: Headers): TraceContext | null {
  const text = kept[TRACE];
  if (text === undefined) return null;
  const space = text.indexOf(' ');
  return readTraceContext(text.slice(0, space), text.slice(space + 1));
}
