import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { ScheduledTask, TenantLimits, Worker } from '../../model/documents.ts';
import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import { type GivenContent, PRIORITIES } from '../../model/task-content.ts';
import { formatDuration } from '../../model/time.ts';
import { NAMED } from '../checks/example-names.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import { PLAIN_TEXT } from '../checks/plain-text.ts';
import {
  type Draft,
  DURATION,
  durationText,
  type Field,
  type FieldTable,
  fieldsOf,
  putFields,
  shownBy,
  TEXT,
  TEXT_OR_NULL,
  takenBy,
  viewOf,
} from '../checks/resource.ts';
import { RETRY_ANSWER, RETRY_SCHEMA, readRetry, retryView } from './common-fields.ts';
import { PAYLOAD, payloadView, readPayload } from './payload-fields.ts';

/** Bounds of the timeout of an attempt of a push worker. */
export const PUSH_TIMEOUT = { minMs: 1_000, maxMs: 900_000 };
/** Bounds of the total duration of a lease of a pull worker. */
export const PULL_TIMEOUT = { minMs: 1_000, maxMs: DAY_MS };
export const EXPIRES_IN = { minMs: 1, maxMs: 2 * 366 * DAY_MS };

export const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_METADATA_BYTES = 4 * 1024;

/** The type is sent in a header field of each push. */
const TYPE = /^[!-~](?:[ -~]*[!-~])?$/;

const of = fieldsOf<GivenContent>();

/** The content of a task: fields of tasks and schedules, apart from the payload and headers (specification 3.2). */
export const CONTENT_FIELDS = {
  type: {
    takes: {
      type: 'string',
      min: 1,
      max: 128,
      nullable: true,
      description: 'A label such as email.welcome, in printable ASCII.',
    },
    put: (content, value, reader, pointer) => {
      content.type = value as string | null;
      if (value !== null && !TYPE.test(value as string)) {
        reader.fault(pointer, 'invalid', 'must be printable ASCII without leading or trailing spaces');
      }
    },
    shows: { ...TEXT_OR_NULL, example: 'email.welcome' },
    show: ({ type }) => type,
    flag: { placeholder: 'TEXT', help: 'type of the task, such as email.welcome' },
  },
  priority: of.plain(
    'priority',
    { type: 'string', enum: PRIORITIES, nullable: true, description: 'Default: the priority of the worker.' },
    {
      example: 'normal',
      flag: { placeholder: 'WORD', help: 'critical, high, normal, low or bulk' },
    },
  ),
  timeout: {
    takes: {
      ...DURATION,
      nullable: true,
      description:
        'Timeout of an attempt: 1s to 15m for push workers, up to 24h for the leases of pull workers. Default: the timeout of the worker.',
    },
    put: (content, value, reader, pointer) => {
      const ms = reader.duration(value, pointer, PULL_TIMEOUT);
      if (ms !== undefined) content.timeoutMs = ms;
    },
    shows: { ...TEXT, example: '30s' },
    show: ({ timeoutMs }) => durationText(timeoutMs),
  },
  retry: {
    takes: RETRY_SCHEMA,
    put: (content, value, reader, pointer) => {
      content.retry = readRetry(value, pointer, reader) ?? null;
    },
    shows: RETRY_ANSWER,
    show: ({ retry }) => retry && retryView(retry),
  },
  tags: of.plain(
    'tags',
    { type: 'array', items: { type: 'string', min: 1, max: 64 }, max: 10, nullable: true },
    { example: ['onboarding'], flag: { placeholder: 'LIST', help: 'tags, such as urgent,eu' } },
  ),
  metadata: {
    takes: {
      type: 'record',
      values: { type: 'string', max: MAX_METADATA_BYTES },
      maxEntries: 16,
      nullable: true,
      description: 'Key-value pairs that are never sent to the worker, at most 4 KiB in total.',
    },
    put: (content, value, reader, pointer) => {
      content.metadata = value as Readonly<Record<string, string>> | null;
      checkMetadata(content.metadata ?? {}, pointer, reader);
    },
    shows: { type: 'record', values: TEXT },
    show: ({ metadata }) => metadata,
  },
} as const satisfies FieldTable<GivenContent>;

/** The header fields of a task, which are part of its body. */
export const HEADERS = {
  takes: {
    type: 'record',
    values: { type: 'string', max: 8192 },
    maxEntries: MAX_HEADERS,
    nullable: true,
    description: 'Header fields for a push worker, at most 8 KiB in total.',
  },
  shows: { type: 'record', values: TEXT, optional: true },
} as const satisfies Field<unknown>;

/** Content of a task that a request gives. A field that is left out stays as it is; null clears it. */
export interface GivenTask extends GivenContent {
  /** In the form of the store (`../../model/task.ts`). */
  readonly payload?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
}

/**
 * Reads the content of a task from fields that their schemas have accepted. Adds faults to the reader.
 *
 * @param pointer JSON pointer of the object with the fields, relative to the reader's object
 * @param before the current payload of the task; null without one
 * @throws Problem `conflicting_fields` or `payload_too_large`
 */
export function readContent(
  fields: Fields,
  pointer: string,
  reader: FieldReader,
  limits: Pick<TenantLimits, 'payloadBytes'>,
  before: string | null = null,
): GivenTask {
  const content: Draft<GivenTask> = {};
  putFields(CONTENT_FIELDS, fields, content, reader, pointer);
  const payload = readPayload(fields, pointer, reader, limits.payloadBytes, before);
  if (payload !== undefined) content.payload = payload;
  const headers = readHeaders(fields.headers, `${pointer}/headers`, reader);
  if (headers !== undefined) content.headers = headers;
  return content;
}

/** The group of a task in requests. It never changes. */
export const GROUP: Schema = {
  type: 'string',
  min: 1,
  max: 128,
  ...PLAIN_TEXT,
  nullable: true,
  description:
    "Tasks of a worker with the same group share the worker's group_concurrency and group_order. No control characters.",
};

/** The flag that sets it. */
export const GROUP_FLAG = {
  placeholder: 'TEXT',
  help: 'group that shares --group-concurrency of the worker',
} as const;

/** The form of a retry policy of which a template may set only some fields. */
const RETRY_PART: ObjectSchema = {
  type: 'object',
  name: 'RetryPart',
  nullable: true,
  properties: Object.fromEntries(
    Object.entries(RETRY_ANSWER.properties).map(([name, schema]) => [name, { ...schema, optional: true }]),
  ),
};

/** The template of the tasks of a schedule. Null leaves priority, timeout and retry policy to the worker. */
export const TEMPLATE_FIELDS: FieldTable<never> = {
  ...CONTENT_FIELDS,
  priority: { ...CONTENT_FIELDS.priority, shows: { type: 'string', enum: PRIORITIES, nullable: true } },
  timeout: { ...CONTENT_FIELDS.timeout, shows: TEXT_OR_NULL },
  retry: { ...CONTENT_FIELDS.retry, shows: RETRY_PART },
  ...PAYLOAD,
  headers: HEADERS,
  group: { takes: GROUP, shows: TEXT_OR_NULL, flag: GROUP_FLAG },
  expires_in: {
    takes: {
      ...DURATION,
      nullable: true,
      description: 'A task expires if it has not started this long after its run_at.',
    },
    shows: TEXT_OR_NULL,
    flag: {
      placeholder: 'DURATION',
      help: 'expire tasks that have not started within this time after they were due',
    },
  },
};

/** The template in requests. */
export const TEMPLATE_TAKEN = takenBy(TEMPLATE_FIELDS, 'new');

/** The template in responses. */
export const TEMPLATE_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'ScheduledTask',
  properties: shownBy(TEMPLATE_FIELDS),
  example: { type: 'report.daily', payload: { to: NAMED.email }, headers: {}, tags: [] },
};

/**
 * A template in the form of {@link TEMPLATE_ANSWER}.
 *
 * @param whole whether the caller may see the payload and headers
 */
export function templateView(task: ScheduledTask, whole: boolean): Record<string, unknown> {
  const { type, ...content } = viewOf(CONTENT_FIELDS, task);
  return {
    type,
    ...(whole && { ...payloadView(task.payload), headers: task.headers }),
    ...content,
    group: task.group ?? null,
    expires_in: durationText(task.expiresInMs ?? null),
  };
}

/** Adds a fault for content that the mode of the worker does not allow. */
export function checkContentFor(
  worker: Pick<Worker, 'name' | 'mode'>,
  content: Pick<GivenTask, 'headers' | 'timeoutMs'>,
  pointer: string,
  reader: FieldReader,
): void {
  const { headers, timeoutMs } = content;
  if (worker.mode === 'push' && timeoutMs != null && timeoutMs > PUSH_TIMEOUT.maxMs) {
    const longest = formatDuration(PUSH_TIMEOUT.maxMs);
    reader.fault(
      `${pointer}/timeout`,
      'out_of_range',
      `must be at most ${longest} for the push worker "${worker.name}", but is ${formatDuration(timeoutMs)}`,
    );
  }
  if (worker.mode === 'pull' && headers != null && Object.keys(headers).length > 0) {
    reader.fault(
      `${pointer}/headers`,
      'forbidden',
      `are only allowed for push workers, and "${worker.name}" is a pull worker: put the data into the payload`,
    );
  }
}

/**
 * Reads header fields for a push worker (specification 3.2).
 *
 * @param value an object of strings, as checked by the schema
 * @returns the header fields, with names in lower case
 */
export function readHeaders(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): Readonly<Record<string, string>> | null | undefined {
  if (value === undefined || value === null) return value;
  const entries = Object.entries(value as Fields) as [string, string][];
  const read = new Map<string, string>();
  let bytes = 0;
  for (const [name, text] of entries) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 64));
    const fault = headerNameFault(name) ?? headerValueFault(text);
    if (fault !== null) reader.fault(pointer, 'invalid', `has an invalid entry: ${shown} ${fault}`);
    else if (read.has(lower)) reader.fault(pointer, 'invalid', `has ${shown} twice`);
    read.set(lower, text);
    bytes += name.length + text.length;
  }
  if (read.size > MAX_HEADERS) {
    reader.fault(pointer, 'too_large', `must have at most ${MAX_HEADERS} entries, but has ${read.size}`);
  }
  if (bytes > MAX_HEADER_BYTES) {
    reader.fault(
      pointer,
      'too_large',
      `must have at most ${MAX_HEADER_BYTES} bytes of names and values, but has ${bytes}`,
    );
  }
  return Object.fromEntries(read);
}

function checkMetadata(
  metadata: Readonly<Record<string, string>>,
  pointer: string,
  reader: FieldReader,
): void {
  let bytes = 0;
  for (const [name, text] of Object.entries(metadata))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
  if (bytes > MAX_METADATA_BYTES) {
    reader.fault(
      pointer,
      'too_large',
      `must have at most ${MAX_METADATA_BYTES} bytes of names and values, but has ${bytes}`,
    );
  }
}
