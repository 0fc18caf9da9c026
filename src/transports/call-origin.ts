import type { HeaderReader } from './tracing.ts';

/** `traceparent` of W3C Trace Context: version, trace ID, parent ID, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/;

/** A trace ID in the headers of B3, which may have 64 bits. */
const B3_TRACE_ID = /^(?:[0-9a-f]{16}){1,2}$/;

const INVALID = '0'.repeat(32);

/**
 * The trace ID that a caller sent, as 32 lower-case hexadecimal digits: of W3C Trace Context, else of B3 with one header or
 * with several. Empty without a valid one.
 */
export function traceIdOf(header: HeaderReader): string {
  const id = TRACEPARENT.exec(header('traceparent'))?.[1] ?? b3TraceId(header);
  return id === INVALID ? '' : id;
}

function b3TraceId(header: HeaderReader): string {
  const id = (header('b3') || header('x-b3-traceid')).split('-', 1)[0].toLowerCase();
  return B3_TRACE_ID.test(id) ? id.padStart(32, '0') : '';
}
