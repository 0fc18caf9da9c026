import { readFileSync } from 'node:fs';
import { asError } from '../../base/fault.ts';
import { CommandFault, UsageFault } from '../terminal/io.ts';
import type { Json } from './tasks-api.ts';

export const TEXT = { kind: 'text', default: '' } as const;

export const COMMON_FLAGS = {
  url: { ...TEXT, placeholder: 'URL', help: 'address of the tenant (default: SLUICE_URL)' },
  json: { kind: 'switch', help: 'print the response of the service as JSON' },
} as const;

export const SERVICE_FLAGS = {
  service: {
    ...TEXT,
    placeholder: 'URL',
    help: 'address of the service, without a tenant (default: SLUICE_SERVICE, or http://localhost:8080)',
  },
  json: COMMON_FLAGS.json,
} as const;

/** For commands that cannot be undone. */
export const YES_FLAG = { kind: 'switch', help: 'do not ask for confirmation' } as const;

export const FILTER_FLAGS = {
  worker: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this worker' },
  status: { ...TEXT, placeholder: 'LIST', help: 'only tasks in these statuses: failed,retry' },
  start: {
    ...TEXT,
    placeholder: 'TIME',
    help: 'only tasks created at or after this time: 2026-03-01T10:00:00Z, 2026-03-01, 2026-03, 2026 or -24h',
  },
  end: {
    ...TEXT,
    placeholder: 'TIME',
    help: 'only tasks created before this time, or during this day, month or year; same forms as --start',
  },
  key: { ...TEXT, placeholder: 'TEXT', help: 'only tasks with this key' },
  type: { ...TEXT, placeholder: 'TEXT', help: 'only tasks of this type' },
  tag: { ...TEXT, placeholder: 'TEXT', help: 'only tasks that have this tag' },
  group: { ...TEXT, placeholder: 'TEXT', help: 'only tasks of this group' },
  schedule: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this schedule' },
  error: {
    ...TEXT,
    placeholder: 'TEXT',
    help: 'only tasks whose last error contains this in its code or message',
  },
  by: {
    ...TEXT,
    placeholder: 'ORDER',
    help: 'order: created_at, or run_at for the waiting tasks of --worker by due time',
  },
} as const;

/** The URL of the worker that a task or a test is pushed to. */
export const PUSH_TO_FLAG = {
  ...TEXT,
  placeholder: 'URL',
  help: 'URL to push to, for a worker that was created with --task-urls',
} as const;

/** The payload of a task, a test or a schedule. */
export const PAYLOAD_FLAGS = {
  payload: { ...TEXT, placeholder: 'JSON', help: 'the payload, or @FILE to read it from a file' },
  'payload-base64': {
    ...TEXT,
    placeholder: 'TEXT',
    help: 'payload that is not JSON, in base64, or @FILE to send the bytes of a file',
  },
  'content-type': {
    ...TEXT,
    placeholder: 'TYPE',
    help: 'content type of --payload-base64 (default: application/octet-stream)',
  },
} as const;

/**
 * The fields of a request that {@link PAYLOAD_FLAGS} stand for.
 *
 * @throws UsageFault, CommandFault
 */
export function payloadFields(flags: Readonly<Record<keyof typeof PAYLOAD_FLAGS, string>>): Json {
  const { payload, 'payload-base64': base64, 'content-type': type } = flags;
  return {
    ...(payload !== '' && { payload: jsonOf(payload) }),
    ...(base64 !== '' && { payload_base64: base64Of(base64) }),
    ...(type !== '' && { content_type: type }),
  };
}

function jsonOf(text: string): unknown {
  const json = text.startsWith('@') ? contentOf(text.slice(1)).toString('utf8') : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new UsageFault(
      `--payload is not valid JSON: ${asError(cause).message}. A string needs quotes: '"text"'.`,
    );
  }
}

function base64Of(text: string): string {
  return text.startsWith('@') ? contentOf(text.slice(1)).toString('base64') : text;
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new CommandFault(`cannot read the payload: ${asError(cause).message}`, { cause });
  }
}
