import { DAY_MS } from '../../../base/clock.ts';
import type { Schema } from '../../../base/schema/schema.ts';
import type { TenantLimits, Worker } from '../../model/documents.ts';
import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { PRIORITIES, type Priority } from '../../model/task.ts';
import { formatDuration } from '../../model/time.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import { durationField, RETRY_SCHEMA, readRetry } from './common-fields.ts';
import { PAYLOAD_FIELDS, readPayload } from './payload-fields.ts';

/** Bounds of the timeout of an attempt of a push worker. */
export const PUSH_TIMEOUT = { minMs: 1_000, maxMs: 900_000 };
/** Bounds of the total duration of a lease of a pull worker. */
export const PULL_TIMEOUT = { minMs: 1_000, maxMs: DAY_MS };

export const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_METADATA_BYTES = 4 * 1024;

/** The type is sent in a header field of each push. */
const TYPE = /^[!-~](?:[ -~]*[!-~])?$/;

/** The content of a task: fields of new tasks, changed tasks and schedules (specification 3.2). Null clears a field. */
export const CONTENT_FIELDS = {
  type: {
    type: 'string',
    min: 1,
    max: 128,
    optional: true,
    nullable: true,
    description: 'A label such as email.welcome, in printable ASCII.',
  },
  ...PAYLOAD_FIELDS,
  headers: {
    type: 'record',
    values: { type: 'string', max: 8192 },
    maxEntries: MAX_HEADERS,
    optional: true,
    nullable: true,
    description: 'Header fields for a push worker, at most 8 KiB in total.',
  },
  priority: {
    type: 'string',
    enum: PRIORITIES,
    optional: true,
    nullable: true,
    description: 'Default: the priority of the worker.',
  },
  timeout: durationField(
    'Timeout of an attempt: 1s to 15m for push workers, up to 24h for the leases of pull workers. Default: the timeout of the worker.',
  ),
  retry: RETRY_SCHEMA,
  tags: {
    type: 'array',
    items: { type: 'string', min: 1, max: 64 },
    max: 10,
    optional: true,
    nullable: true,
  },
  metadata: {
    type: 'record',
    values: { type: 'string', max: MAX_METADATA_BYTES },
    maxEntries: 16,
    optional: true,
    nullable: true,
    description: 'Key-value pairs that are never sent to the worker, at most 4 KiB in total.',
  },
} as const satisfies Record<string, Schema>;

/** The group of a task. It never changes. */
export const GROUP_FIELD: Schema = {
  type: 'string',
  min: 1,
  max: 128,
  optional: true,
  nullable: true,
  description: "Tasks of a worker with the same group share the worker's group_concurrency and group_order.",
};

/** The values of {@link CONTENT_FIELDS}: undefined if a field was left out, null if it is to be cleared. */
export interface TaskContent {
  readonly type: string | null | undefined;
  /** In the form of the store (`../../model/task.ts`). */
  readonly payload: string | null | undefined;
  readonly headers: Readonly<Record<string, string>> | null | undefined;
  readonly priority: Priority | null | undefined;
  readonly timeoutMs: number | null | undefined;
  readonly retry: Partial<RetryPolicy> | null | undefined;
  readonly tags: readonly string[] | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/**
 * Reads the content of a task from fields that the schema has accepted. Adds faults to the reader.
 *
 * @param pointer JSON pointer of the object with the fields, relative to the reader's object
 * @param payload the current payload of the task; null without one
 * @throws Problem `conflicting_fields` or `payload_too_large`
 */
export function readContent(
  fields: Fields,
  pointer: string,
  reader: FieldReader,
  limits: Pick<TenantLimits, 'payloadBytes'>,
  payload: string | null = null,
): TaskContent {
  return {
    type: readType(fields.type, `${pointer}/type`, reader),
    payload: readPayload(fields, pointer, reader, limits.payloadBytes, payload),
    headers: readHeaders(fields.headers, `${pointer}/headers`, reader),
    priority: fields.priority as Priority | null | undefined,
    timeoutMs: reader.duration(fields.timeout, `${pointer}/timeout`, PULL_TIMEOUT),
    retry: readRetry(fields.retry, `${pointer}/retry`, reader),
    tags: fields.tags as readonly string[] | null | undefined,
    metadata: readMetadata(fields.metadata, `${pointer}/metadata`, reader),
  };
}

/** Adds a fault for content that the mode of the worker does not allow. */
export function checkContentFor(
  worker: Pick<Worker, 'name' | 'mode'>,
  content: Pick<TaskContent, 'headers' | 'timeoutMs'>,
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

function readType(value: unknown, pointer: string, reader: FieldReader): string | null | undefined {
  if (value === undefined || value === null) return value;
  if (!TYPE.test(value as string)) {
    reader.fault(pointer, 'invalid', 'must be printable ASCII without leading or trailing spaces');
  }
  return value as string;
}

function readMetadata(
  value: unknown,
  pointer: string,
  reader: FieldReader,
): Readonly<Record<string, string>> | null | undefined {
  if (value === undefined || value === null) return value;
  const metadata = value as Readonly<Record<string, string>>;
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
  return metadata;
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
