import { headerNameFault, headerValueFault } from '../model/headers.ts';
import { bytesOf } from '../model/task.ts';
import { type DeliveryRequest, HIDDEN, type SentRequest } from './delivery.ts';
import { signatures } from './signature.ts';
import type { Target } from './worker-url.ts';

/**
 * The headers of an attempt (specification 3.5.1), except those of the HTTP client (`host`, `content-length`,
 * `connection`). Headers of the task replace headers of its worker, confidential headers replace both, and headers of the
 * service replace all of them. Names and values that may not be sent are left out: the API rejects them.
 *
 * @param body the bytes that are sent
 * @param nowMs the time of the attempt
 * @returns names and values in turn
 * @throws Error for a signing secret that cannot be read; the text does not hold it
 */
export function requestHead(
  request: DeliveryRequest,
  body: Uint8Array,
  userAgent: string,
  nowMs: number,
): string[] {
  const { task, worker } = request;
  const fields = new Map<string, string>([['user-agent', userAgent]]);
  if (request.payload !== null) fields.set('content-type', 'application/json');
  for (const given of [worker.headers, request.headers, request.secretHeaders]) {
    for (const name of Object.keys(given)) {
      if (headerNameFault(name) === null && headerValueFault(given[name]) === null) {
        fields.set(name.toLowerCase(), given[name]);
      }
    }
  }
  const bytes = bytesOf(request.payload);
  if (bytes !== null) fields.set('content-type', bytes.contentType);
  const timestamp = Math.floor(nowMs / 1000);
  fields.set('webhook-id', task.id);
  fields.set('webhook-timestamp', String(timestamp));
  if (request.signing.length > 0) {
    fields.set('webhook-signature', signatures(request.signing, { id: task.id, timestamp, body }));
  }
  if (request.isTest) fields.set('task-test', 'true');
  fields.set('task-attempt', String(task.attempt));
  fields.set('task-max-attempts', String(task.retry.maxAttempts));
  fields.set('task-worker', asFieldValue(worker.name));
  if (task.type !== null) fields.set('task-type', asFieldValue(task.type));
  fields.set('task-scheduled-for', new Date(task.scheduledFor ?? task.runAt).toISOString());
  if (request.trace !== null) {
    const { traceparent, tracestate } = request.trace;
    fields.set('traceparent', traceparent);
    if (tracestate === '') fields.delete('tracestate');
    else fields.set('tracestate', tracestate);
  }
  return [...fields].flat();
}

/** A request as the worker gets it, with what the client library writes and without what is secret. */
export function shownRequest(
  request: DeliveryRequest,
  { origin, path }: Target,
  head: readonly string[],
  bodyBytes: number,
): SentRequest {
  const headers: Record<string, string> = { host: new URL(origin).host, connection: 'keep-alive' };
  for (let at = 0; at < head.length; at += 2) headers[head[at]] = head[at + 1];
  for (const name of Object.keys(request.secretHeaders)) {
    if (Object.hasOwn(headers, name.toLowerCase())) headers[name.toLowerCase()] = HIDDEN;
  }
  headers['content-length'] = String(bodyBytes);
  return { method: request.worker.method, url: origin + path, headers };
}

/**
 * A free text as a header can hold it: everything but the printable characters of ASCII is written as its percent-encoded
 * UTF-8, and so is the percent sign.
 */
function asFieldValue(text: string): string {
  if (/^[!-$&-~]*$/.test(text)) return text;
  return text.toWellFormed().replace(/[^!-$&-~ ]|^ | $/gu, encodeURIComponent);
}
