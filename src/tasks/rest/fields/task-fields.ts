import { DAY_MS } from '../../../base/clock.ts';
import type { TenantLimits, Worker } from '../../model/documents.ts';
import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { PRIORITIES, type Priority } from '../../model/task.ts';
import { formatDuration } from '../../model/time.ts';
import type { FieldReader, Fields } from '../checks/field-reader.ts';
import type { Schema } from '../checks/schema.ts';
import { durationField, RETRY_SCHEMA, readRetry } from './common-fields.ts';
import { PAYLOAD_FIELDS, readPayload } from './payload-fields.ts';

/** How long an attempt of a push worker may take. */
export const PUSH_TIMEOUT = { minMs: 1_000, maxMs: 900_000 };
/** How long a lease of a pull worker may last in all. */
export const PULL_TIMEOUT = { minMs: 1_000, maxMs: DAY_MS };

export const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_METADATA_BYTES = 4 * 1024;

/** The type travels in a header field of each attempt. */
const TYPE = /^[!-~](?:[ -~]*[!-~])?$/;

/** What a task is about: fields that creating, changing and schedules share (specification 3.2). Null clears. */
export const CONTENT_FIELDS = {
  type: {
    type: 'string',
    min: 1,
    max: 128,
    optional: true,
    nullable: true,
    description: 'A label such as email.welcome. Printable ASCII.',
  },
  ...PAYLOAD_FIELDS,
  headers: {
    type: 'record',
    values: { type: 'string', max: 8192 },
    maxEntries: MAX_HEADERS,
    optional: true,
    nullable: true,
    description: 'Header fields for a push worker, at most 8 KiB.',
  },
  priority: {
    type: 'string',
    enum: PRIORITIES,
    optional: true,
    nullable: true,
    description: "The worker's where there is none.",
  },
  timeout: durationField(
    'How long an attempt may take: 1s to 15m, 24h in all for leases. Else as the worker has it.',
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
    description: 'Texts that are never sent to the worker, at most 4 KiB.',
  },
} as const satisfies Record<string, Schema>;

/** The group of a task, which never changes. */
export const GROUP_FIELD: Schema = {
  type: 'string',
  min: 1,
  max: 128,
  optional: true,
  nullable: true,
  description:
    "Tasks of a worker with the same group share the worker's group_concurrency, and its group_order.",
};

/** What was read of {@link CONTENT_FIELDS}: undefined where a field was left out, null where it is to be cleared. */
export interface TaskContent {
  readonly type: string | null | undefined;
  /** As stores have it (`../../model/task.ts`). */
  readonly payload: string | null | undefined;
  readonly headers: Readonly<Record<string, string>> | null | undefined;
  readonly priority: Priority | null | undefined;
  readonly timeoutMs: number | null | undefined;
  readonly retry: Partial<RetryPolicy> | null | undefined;
  readonly tags: readonly string[] | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/**
 * Reads the content of a task from fields that their schema has accepted. Faults are the reader's.
 *
 * @param pointer where the fields are, below the reader's own place; empty for there
 * @param payload the one that is changed; null for none
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

/** Faults of content that this worker's mode does not allow. */
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
      `is ${formatDuration(timeoutMs)}, and worker "${worker.name}" is pushed to, which takes at most ${longest}`,
    );
  }
  if (worker.mode === 'pull' && headers != null && Object.keys(headers).length > 0) {
    reader.fault(
      `${pointer}/headers`,
      'forbidden',
      `are for workers that are pushed to, and "${worker.name}" pulls: put it into the payload`,
    );
  }
}

function readType(value: unknown, pointer: string, reader: FieldReader): string | null | undefined {
  if (value === undefined || value === null) return value;
  if (!TYPE.test(value as string)) {
    reader.fault(pointer, 'invalid', 'has to be printable ASCII, without spaces around it');
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
      `has ${bytes} bytes of names and texts, and may have ${MAX_METADATA_BYTES}`,
    );
  }
  return metadata;
}

/**
 * Reads header fields that are sent to a push worker (specification 3.2).
 *
 * @param value what a schema has found to be an object of texts
 * @returns names in lower case
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
    if (fault !== null) reader.fault(pointer, 'invalid', `cannot be taken: ${shown} ${fault}`);
    else if (read.has(lower)) reader.fault(pointer, 'invalid', `names ${shown} twice`);
    read.set(lower, text);
    bytes += name.length + text.length;
  }
  if (read.size > MAX_HEADERS) {
    reader.fault(pointer, 'too_large', `has ${read.size} entries, and may have ${MAX_HEADERS}`);
  }
  if (bytes > MAX_HEADER_BYTES) {
    reader.fault(
      pointer,
      'too_large',
      `has ${bytes} bytes of names and values, and may have ${MAX_HEADER_BYTES}`,
    );
  }
  return Object.fromEntries(read);
}
