import { headerNameFault, headerValueFault } from '../model/header-rules.ts';
import type { DeliveryRequest } from './delivery.ts';
import { signatures } from './signature.ts';

/** The part of a request that goes to the thread that makes the attempt. */
export interface AttemptRequest extends Omit<DeliveryRequest, 'task'> {
  readonly task: Pick<
    DeliveryRequest['task'],
    'id' | 'type' | 'attempt' | 'timeoutMs' | 'runAt' | 'scheduledFor'
  > & { readonly retry: { readonly maxAttempts: number } };
}

/**
 * The header of an attempt (specification 3.5.1), without what the client library writes (`host`, `content-length`,
 * `connection`). Headers of the task replace those of its worker, confidential ones replace both, and ours all. Names
 * and values that may not be sent are left out: they were refused where they were set.
 *
 * @param body the bytes that are sent
 * @param nowMs the time of the attempt
 * @returns names and values in turn
 * @throws Error for a signing secret that cannot be read; the text does not hold it
 */
export function requestHead(
  request: AttemptRequest,
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
  const timestamp = Math.floor(nowMs / 1000);
  fields.set('webhook-id', task.id);
  fields.set('webhook-timestamp', String(timestamp));
  if (request.signing.length > 0) {
    fields.set('webhook-signature', signatures(request.signing, { id: task.id, timestamp, body }));
  }
  fields.set('task-attempt', String(task.attempt));
  fields.set('task-max-attempts', String(task.retry.maxAttempts));
  fields.set('task-worker', asFieldValue(worker.name));
  if (task.type !== null) fields.set('task-type', asFieldValue(task.type));
  fields.set('task-scheduled-for', new Date(task.scheduledFor ?? task.runAt).toISOString());
  if (request.traceparent !== null) fields.set('traceparent', asFieldValue(request.traceparent));
  return [...fields].flat();
}

/**
 * A free text as a header can hold it: everything but the printable characters of ASCII is written as its percent-encoded
 * UTF-8, and so is the percent sign.
 */
function asFieldValue(text: string): string {
  if (/^[!-$&-~]*$/.test(text)) return text;
  return text.toWellFormed().replace(/[^!-$&-~ ]|^ | $/gu, encodeURIComponent);
}
