import type { Deliveries, DeliveryOutcome, DeliveryRequest } from '../../tasks/delivery/delivery.ts';
import type { CallSpan, SpanAttributes } from '../../transports/tracing.ts';
import type { OtlpTracing } from '../tracing/otlp-tracing.ts';

const SPAN_NAME = 'Task Delivery';

/**
 * Deliveries with a span for each attempt. The span begins a trace, because a task may be delivered days after it was
 * created, and again and again. It links to the call that created the task, and the worker gets its context.
 */
export class TracedDeliveries implements Deliveries {
  readonly #deliveries: Deliveries;
  readonly #tracing: Pick<OtlpTracing, 'beginLinked'>;

  constructor(deliveries: Deliveries, tracing: Pick<OtlpTracing, 'beginLinked'>) {
    this.#deliveries = deliveries;
    this.#tracing = tracing;
  }

  get free(): number {
    return this.#deliveries.free;
  }

  get capacity(): number {
    return this.#deliveries.capacity;
  }

  async deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    const span = this.#tracing.beginLinked(SPAN_NAME, request.trace);
    if (span.recording) span.add(attributesOf(request));
    const outcome = await this.#deliveries.deliver({ ...request, trace: span.context });
    end(span, outcome);
    return outcome;
  }

  abort(tenant: string, taskId: string): void {
    this.#deliveries.abort(tenant, taskId);
  }

  start(): Promise<void> {
    return this.#deliveries.start();
  }

  stop(): Promise<void> {
    return this.#deliveries.stop();
  }
}

/** The path of the URL is left out, because it is the secret of many webhooks, and so is its query. */
function attributesOf({ tenant, task, worker, isTest }: DeliveryRequest): SpanAttributes {
  return {
    'http.request.method': worker.method,
    ...(task.attempt > 1 && { 'http.request.resend_count': task.attempt - 1 }),
    ...endpointOf(worker.url ?? ''),
    'sluice.tenant': tenant,
    'sluice.worker': worker.name,
    'sluice.task.id': task.id,
    'sluice.task.attempt': task.attempt,
    ...(task.type !== null && { 'sluice.task.type': task.type }),
    ...(isTest && { 'sluice.task.test': true }),
  };
}

function endpointOf(text: string): SpanAttributes {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return {};
  const scheme = url.protocol.slice(0, -1);
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port);
  return {
    'url.scheme': scheme,
    'server.address': url.hostname.replace(/^\[|\]$/g, ''),
    'server.port': port,
  };
}

function end(span: CallSpan, { status, error }: DeliveryOutcome): void {
  const answered = status === 0 ? {} : { 'http.response.status_code': status };
  if (error === null) span.end(answered, '');
  else span.end({ ...answered, 'error.type': error.code }, error.message);
}
