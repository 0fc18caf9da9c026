import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { SentRequest } from '../../delivery/delivery.ts';
import { bytesOf } from '../../model/task.ts';
import type { WorkerTestAnswer } from '../../scheduler/workers/worker-tests.ts';
import { NAMED } from '../checks/example-names.ts';
import { FieldReader } from '../checks/field-reader.ts';
import { Problem, retryLater } from '../checks/problem.ts';
import { takenBy } from '../checks/resource.ts';
import { noSuch, readNamed } from '../fields/named-documents.ts';
import { readUrl } from '../fields/new-task.ts';
import { PAYLOAD, readPayload } from '../fields/payload-fields.ts';
import { checkUrl } from '../fields/read-worker.ts';
import { TASK_URL } from '../fields/task-fields.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';

const MAX_PAYLOAD_BYTES = 64 * 1024;
const DEFAULT_PAYLOAD = '{"test":true}';

const TEST_FIELDS: ObjectSchema = {
  type: 'object',
  name: 'WorkerTestFields',
  properties: {
    url: { ...TASK_URL, optional: true },
    ...takenBy(PAYLOAD, 'new'),
    payload: {
      ...PAYLOAD.payload.takes,
      optional: true,
      description: 'Any JSON, at most 64 KiB; null for an empty body. Default: {"test":true}.',
    },
  },
  example: { payload: { to: NAMED.email } },
};

/** The effect of an outcome on a task (specification 3.5.1). */
const OUTCOMES = ['succeeded', 'attempt_failed', 'timed_out', 'deferred', 'no_retry'] as const;

const TEST_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'WorkerTest',
  properties: {
    outcome: {
      type: 'string',
      enum: OUTCOMES,
      description: 'What an attempt with this result would mean for a task.',
    },
    duration_ms: { type: 'number', integer: true, min: 0 },
    request: {
      type: 'object',
      name: 'WorkerTestRequest',
      nullable: true,
      description: 'The request as it was sent; null if the URL or its addresses are not allowed.',
      properties: {
        method: { type: 'string' },
        url: { type: 'string' },
        headers: {
          type: 'record',
          values: { type: 'string' },
          description: 'All header fields, with names in lowercase. Values of secrets are shown as [hidden].',
        },
        body: {
          type: 'string',
          nullable: true,
          description: 'Null if the payload was given as payload_base64.',
        },
        body_base64: { type: 'string', encoding: 'base64', optional: true, description: 'In place of body.' },
      },
    },
    response: {
      type: 'object',
      name: 'WorkerTestResponse',
      nullable: true,
      description: 'The response of the worker; null if there was none.',
      properties: {
        status: { type: 'number', integer: true },
        body: { type: 'string', description: 'The first 4 KiB, as text.' },
        truncated: { type: 'boolean' },
      },
    },
    error: {
      type: 'object',
      name: 'WorkerTestError',
      nullable: true,
      properties: { code: { type: 'string' }, message: { type: 'string' } },
    },
  },
  example: {
    outcome: 'succeeded',
    duration_ms: 212,
    request: {
      method: 'POST',
      url: 'https://mail.example.com/tasks',
      headers: {
        host: 'mail.example.com',
        'content-type': 'application/json',
        'webhook-id': NAMED.ids.task,
        'webhook-timestamp': '1772359200',
        'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        'task-test': 'true',
        'content-length': '24',
      },
      body: '{"to":"ann@example.com"}',
    },
    response: { status: 200, body: '{"message_id":"m-4711"}', truncated: false },
    error: null,
  },
};

/** `POST /v1/workers/:id/test` (specification 3.5). It stores nothing. */
export function testWorkerRoute(parts: RestParts): Route {
  return {
    method: 'POST',
    path: '/v1/workers/:id/test',
    operation: 'testWorker',
    summary:
      'Send one signed test request to a push worker, even if it is paused, and show the request and the response',
    access: { role: 'admin', scope: 'workers:write' },
    body: TEST_FIELDS,
    bodyOptional: true,
    answers: { 200: { description: 'The request and the response', schema: TEST_ANSWER } },
    problems: [
      'worker_mode_mismatch',
      'conflicting_fields',
      'payload_too_large',
      'invalid_url',
      'forbidden_address',
      'secrets_unreadable',
    ],
    handle: call => testWorker(parts, call),
  };
}

async function testWorker({ store, tester, ids, config }: RestParts, call: Call): Promise<RestAnswer> {
  const { id: workerId, body: worker } = await readNamed(store, call, 'worker');
  const reader = new FieldReader();
  const read = readPayload(call.body, '', reader, MAX_PAYLOAD_BYTES);
  const payload = read === undefined ? DEFAULT_PAYLOAD : read;
  const url = readUrl(call.body, worker, reader);
  reader.finish();
  if (url !== null) checkUrl(url, config.urls);
  const test = { tenant: call.tenant, workerId, id: ids.next('task'), url, payload };
  return { status: 200, json: answerView(await tester.test(test), payload, call.params['id']) };
}

/** @throws Problem if no request was sent because of the worker or of this service */
function answerView(
  answer: WorkerTestAnswer,
  payload: string | null,
  worker: string,
): Record<string, unknown> {
  if (answer.kind === 'impossible') throw impossible(answer.reason, worker);
  if (answer.kind === 'refused') throw refused(answer);
  const { event, outcome } = answer;
  if (outcome.kind === 'aborted') {
    throw retryLater('interrupted', 'The test was interrupted. Retry the request.');
  }
  const { http, error, sent, durationMs } = outcome;
  return {
    outcome: event,
    duration_ms: Math.round(durationMs),
    request: sent === undefined ? null : requestView(sent, payload),
    response: http === null ? null : { status: http.status, body: http.response, truncated: http.truncated },
    error: error === null ? null : { code: error.code, message: error.message },
  };
}

function requestView({ method, url, headers }: SentRequest, payload: string | null): Record<string, unknown> {
  const bytes = bytesOf(payload);
  const body = bytes === null ? { body: payload ?? '' } : { body: null, body_base64: bytes.base64 };
  return { method, url, headers, ...body };
}

function impossible(
  reason: Extract<WorkerTestAnswer, { kind: 'impossible' }>['reason'],
  worker: string,
): Problem {
  if (reason === 'gone') return noSuch('worker', worker);
  if (reason === 'not_pushed') {
    return new Problem('worker_mode_mismatch', 'Only push workers can be tested, and this is a pull worker.');
  }
  return new Problem(
    'secrets_unreadable',
    'A secret of the worker cannot be decrypted, so no request is sent. Replace the secret, or ask the operator ' +
      'whether the master key has changed.',
  );
}

function refused({ reason, retryAfterMs }: Extract<WorkerTestAnswer, { kind: 'refused' }>): Problem {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return reason === 'rate'
    ? retryLater('rate_limited', 'An account can send 10 tests per minute. Retry the request later.', seconds)
    : retryLater(
        'overloaded',
        'Too many tests or deliveries are in progress. Retry the request in a second.',
        seconds,
      );
}
