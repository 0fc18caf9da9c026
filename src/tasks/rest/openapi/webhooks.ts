import { FINAL_STATUSES } from '../../model/task.ts';
import { NAMED } from '../checks/example-names.ts';

/** A header field of a delivery. */
interface SentHeader {
  readonly description: string;
  readonly schema: object;
  /** Absent for a field that few deliveries have. */
  readonly example?: string;
  /** Whether each delivery has it. */
  readonly always?: true;
}

/** The header fields of a delivery, except those of the worker, of the task and of the connection. */
const HEADERS: Readonly<Record<string, SentHeader>> = {
  'webhook-id': {
    description:
      'The id of the task. It is the same in every attempt, so receivers can recognize repeated deliveries.',
    schema: { type: 'string', pattern: '^tsk_[0-9A-HJKMNP-TV-Z]{26}$' },
    example: NAMED.ids.task,
    always: true,
  },
  'webhook-timestamp': {
    description:
      'The time of this attempt, in seconds since the Unix epoch. Reject deliveries that are older than a few minutes.',
    schema: { type: 'string', pattern: '^[0-9]{1,12}$' },
    example: '1772359200',
    always: true,
  },
  'webhook-signature': {
    description:
      'One signature for each signing secret of the worker, newest first, separated by spaces: `v1,` and the base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body` (Standard Webhooks). Missing if the worker has no signing secret.',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$' },
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  'task-attempt': {
    description: 'The number of this attempt, from 1. Deliveries that were postponed do not count.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1',
    always: true,
  },
  'task-max-attempts': {
    description: 'The number of attempts after which the task fails.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '12',
    always: true,
  },
  'task-worker': {
    description: 'The name of the worker.',
    schema: { type: 'string', pattern: '^[ -~]+$' },
    example: NAMED.worker,
    always: true,
  },
  'task-type': {
    description: 'The `type` of the task, if it has one.',
    schema: { type: 'string', pattern: '^[ -~]+$' },
    example: 'email.welcome',
  },
  'task-scheduled-for': {
    description: 'The nominal time of the run, for tasks of a schedule; otherwise `run_at` of the task.',
    schema: { type: 'string', format: 'date-time' },
    example: NAMED.time,
    always: true,
  },
  'task-test': {
    description:
      'Only in a test of the worker (`POST /v1/workers/{id}/test`). The `webhook-id` then belongs to no task.',
    schema: { type: 'string', enum: ['true'] },
  },
  traceparent: {
    description:
      'The trace context of the call that created the task, or of this attempt if the service has tracing enabled (W3C Trace Context).',
    schema: { type: 'string', pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' },
    example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  tracestate: {
    description: 'Further trace context, only together with `traceparent`.',
    schema: { type: 'string', maxLength: 512 },
    example: 'vendor=opaque',
  },
  'user-agent': {
    description: 'The name and version of the service, unless the worker or the task sets another one.',
    schema: { type: 'string' },
    example: 'sluice/0.2.0',
    always: true,
  },
};

const RETRY_AFTER = {
  description: 'Seconds, or an HTTP date; at most a day.',
  schema: { type: 'string' },
  example: '30',
};

const NO_RETRY = {
  description: 'With any status: the task fails without further attempts.',
  schema: { type: 'string', enum: ['true'] },
};

/** What the answers of a receiver mean. The effect is the event in the history of the task. */
const ANSWERS = {
  '2XX': {
    description:
      'The task has succeeded. A JSON body of at most 16 KiB is kept as its `result`. Answer only when the work is done, or stored.',
    headers: { 'task-no-retry': NO_RETRY },
    content: {
      'application/json': { schema: {}, example: { message_id: 'm-4711' } },
    },
    'x-effect': 'succeeded',
  },
  '410': {
    description:
      'The receiver is gone: the task has failed without further attempts, and the worker is paused.',
    'x-effect': 'no_retry',
  },
  '489': {
    description:
      'The task has failed without further attempts. The header `task-no-retry: true` with any status, and the statuses in `no_retry_on` of the worker, have the same effect.',
    headers: { 'task-no-retry': NO_RETRY },
    'x-effect': 'no_retry',
  },
  '429': {
    description:
      'With `Retry-After`: the task is postponed by this time, which does not count as an attempt, and until then nothing else is sent to this worker. Without it: a failed attempt, with a delay of at least a minute.',
    headers: { 'Retry-After': RETRY_AFTER },
    'x-effect': 'deferred',
  },
  '503': {
    description: 'With `Retry-After`: as 429. Without it: a failed attempt.',
    headers: { 'Retry-After': RETRY_AFTER },
    'x-effect': 'deferred',
  },
  default: {
    description:
      'Any other status, including redirects, which are not followed; no connection; no complete answer within the `timeout` of the task: a failed attempt. The task is retried according to its `retry`, and fails after the last attempt.',
    'x-effect': 'attempt_failed',
  },
} as const;

const NULLABLE_TEXT = { type: ['string', 'null'] };

/** The payload of a callback (`on_finish`). */
export const CALLBACK_PAYLOAD = {
  type: 'object',
  description: 'The payload of a callback: a task that reports the end of another task.',
  properties: {
    id: { type: 'string', description: 'The task that has ended.' },
    worker: { type: 'string' },
    worker_id: { type: 'string' },
    type: NULLABLE_TEXT,
    key: NULLABLE_TEXT,
    tags: { type: 'array', items: { type: 'string' } },
    status: { type: 'string', enum: FINAL_STATUSES },
    attempts: { type: 'integer', minimum: 0 },
    error: {
      type: ['object', 'null'],
      description: 'The last error; null after a success.',
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        http_status: { type: 'integer' },
        at: { type: 'string', format: 'date-time' },
      },
      required: ['code', 'message', 'at'],
    },
    finished_at: { type: 'string', format: 'date-time' },
    links: {
      type: 'object',
      properties: { task: { type: 'string' }, history: { type: 'string' } },
      required: ['task', 'history'],
    },
    result_omitted: { type: 'boolean', description: 'The result is larger than 16 KiB and not included.' },
    result: { description: 'Any JSON; null for none.' },
  },
  required: [
    ...['id', 'worker', 'worker_id', 'type', 'key', 'tags', 'status', 'attempts', 'error', 'finished_at'],
    ...['links', 'result_omitted', 'result'],
  ],
} as const;

/** Examples of the bodies of deliveries, for `components.examples`. */
export const DELIVERY_EXAMPLES = {
  Delivery: { value: { to: NAMED.email, template: 'welcome' } },
  CallbackPayload: {
    value: {
      id: NAMED.ids.task,
      worker: NAMED.worker,
      worker_id: NAMED.ids.worker,
      type: 'email.welcome',
      key: 'welcome:ann',
      tags: ['onboarding'],
      status: 'failed',
      attempts: 12,
      error: { code: 'http_5xx', message: '503 from worker', http_status: 503, at: NAMED.time },
      finished_at: NAMED.time,
      links: { task: `/api/v1/tasks/${NAMED.ids.task}`, history: `/api/v1/tasks/${NAMED.ids.task}/history` },
      result_omitted: false,
      result: null,
    },
  },
} as const;

/** What receivers get and answer, for `webhooks`. */
export function deliveryWebhooks(): object {
  return {
    taskDelivery: {
      post: {
        operationId: 'deliverTask',
        summary: 'A task is pushed to its worker',
        tags: ['receivers'],
        description:
          'The service sends each task of a push worker to the `url` of the worker, or to that of the task, with the `method` of the worker: `POST` unless it is set to `PUT` or `PATCH`. The `headers` and header secrets of the worker and the `headers` of the task are sent as well. Each task is delivered at least once, so it can arrive again after it was handled.',
        security: [],
        parameters: parameters(),
        requestBody: {
          description:
            'The payload, unchanged. A task without a payload is sent without a body and without `Content-Type`.',
          required: false,
          content: {
            'application/json': {
              schema: { description: 'Any JSON.' },
              examples: { Delivery: { $ref: '#/components/examples/Delivery' } },
            },
            '*/*': {
              schema: {
                description:
                  'The bytes of `payload_base64`, with the `content_type` of the task as `Content-Type`.',
              },
            },
          },
        },
        responses: ANSWERS,
      },
    },
    taskFinished: {
      post: {
        operationId: 'deliverCallback',
        summary: 'A callback reports that a task has ended',
        tags: ['receivers'],
        description:
          'A worker with `on_finish` has a task created for another worker when one of its tasks ends. This callback is delivered like any other task. Its `task-type` is `task.` and the status of the ended task.',
        security: [],
        parameters: parameters({ 'task-type': { enum: FINAL_STATUSES.map(status => `task.${status}`) } }),
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/CallbackPayload' },
              examples: { CallbackPayload: { $ref: '#/components/examples/CallbackPayload' } },
            },
          },
        },
        responses: ANSWERS,
      },
    },
  };
}

/** @param stricter what the schemas of some fields say in addition */
function parameters(stricter: Readonly<Record<string, object>> = {}): object[] {
  return Object.entries(HEADERS).map(([name, { description, schema, example, always = false }]) => {
    const { [name]: more } = stricter;
    return {
      name,
      in: 'header',
      description,
      required: always || more !== undefined,
      schema: { ...schema, ...more },
      ...(more === undefined && example !== undefined && { example }),
    };
  });
}
