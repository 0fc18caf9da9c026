import type { HeaderReader } from './tracing.ts';

/** `traceparent` of W3C Trace Context: version, trace ID, parent ID, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/;

/** A trace ID in the headers of B3, which may have 64 bits. */
const B3_TRACE_ID = /^(?:[0-9a-f]{16}){1,2}$/;

const INVALID = '0'.repeat(32);

/** Longer fields contain no valid trace ID, or much more than it, and are not kept. */
const MAX_CHARACTERS = 256;

/**
 * The header field of a call that contains its trace ID: of W3C Trace Context, else of B3 in one header or in several. Empty
 * if there is none. It is read for each call, and {@link traceIdOf} only for the few that are logged.
 */
export function traceFieldOf(header: HeaderReader): string {
  const field = header('traceparent') || header('b3') || header('x-b3-traceid');
  return field.length > MAX_CHARACTERS ? '' : field;
}

/** The trace ID in a field from {@link traceFieldOf}: 32 lower-case hexadecimal digits. Empty if there is no valid one. */
export function traceIdOf(field: string): string {
  const id = TRACEPARENT.exec(field)?.[1] ?? b3TraceId(field);
  return id === INVALID ? '' : id;
}

function b3TraceId(field: string): string {
  const id = field.split('-', 1)[0].toLowerCase();
  return B3_TRACE_ID.test(id) ? id.padStart(32, '0') : '';
}
