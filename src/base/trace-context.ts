/** The trace context of a call (W3C Trace Context): a valid `traceparent`, and its `tracestate`, empty for none. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string;
}

/** Version 00, and what later versions have in common with it: trace ID, parent ID, flags. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Longer fields are not read. Those of version 00 have 55 characters. */
const MAX_TRACEPARENT = 128;

/** The length and the number of entries that every system has to pass on. Longer fields are left out. */
const MAX_TRACESTATE = 512;
const MAX_ENTRIES = 32;

/** An entry: a key, which may begin with a tenant, and a value of printable characters (W3C Trace Context, 3.3.1). */
const ENTRY =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads the fields of a call. A `traceparent` of a later version becomes one of version 00. A `tracestate` that is invalid
 * or too long is left out.
 *
 * @returns null if `traceparent` is missing or invalid
 */
export function readTraceContext(traceparent: string, tracestate: string): TraceContext | null {
  if (traceparent.length > MAX_TRACEPARENT) return null;
  const [, version, traceId, parentId, flags, rest] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || (version === '00' && rest !== undefined)) return null;
  return { traceparent: `00-${traceId}-${parentId}-${flags}`, tracestate: readTracestate(tracestate) };
}

function readTracestate(text: string): string {
  if (text.length > MAX_TRACESTATE) return '';
  const entries = text
    .split(',')
    .map(entry => entry.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter(entry => entry !== '');
  if (entries.length > MAX_ENTRIES || !entries.every(entry => ENTRY.test(entry))) return '';
  return entries.join(',');
}
