import { readFileSync } from 'node:fs';
import { asError } from '../../base/fault.ts';
import { CommandFault, UsageFault } from '../terminal/io.ts';
import type { Json } from './tasks-api.ts';

export const TEXT = { kind: 'text', default: '' } as const;

export const COMMON_FLAGS = {
  url: { ...TEXT, placeholder: 'URL', help: "the tenant's address; without it, SLUICE_URL" },
  json: { kind: 'switch', help: 'print what the service answered, as JSON' },
} as const;

export const SERVICE_FLAGS = {
  service: {
    ...TEXT,
    placeholder: 'URL',
    help: 'where the service is, without a tenant; without it, SLUICE_SERVICE or http://localhost:8080',
  },
  json: COMMON_FLAGS.json,
} as const;

/** For what cannot be undone. */
export const YES_FLAG = { kind: 'switch', help: 'do not ask' } as const;

export const FILTER_FLAGS = {
  worker: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this worker' },
  status: { ...TEXT, placeholder: 'LIST', help: 'only tasks in these statuses: failed,retry' },
  start: {
    ...TEXT,
    placeholder: 'TIME',
    help: 'made at or after: a time, 2026-03-01, 2026-03, 2026, or -24h',
  },
  end: { ...TEXT, placeholder: 'TIME', help: 'made before, or in: as --start' },
  key: { ...TEXT, placeholder: 'TEXT', help: 'only tasks with this key' },
  type: { ...TEXT, placeholder: 'TEXT', help: 'only tasks of this type' },
  tag: { ...TEXT, placeholder: 'TEXT', help: 'only tasks that have this tag' },
  group: { ...TEXT, placeholder: 'TEXT', help: 'only tasks of this group' },
  schedule: { ...TEXT, placeholder: 'NAME', help: 'only tasks of this schedule' },
  error: {
    ...TEXT,
    placeholder: 'TEXT',
    help: 'only tasks with this in the code or message of the last error',
  },
  by: {
    ...TEXT,
    placeholder: 'ORDER',
    help: 'created_at, or run_at: waiting tasks of --worker by the time at which they are due',
  },
} as const;

/** Fields of a task, as a task and a schedule name them. */
export const TASK_FLAGS = {
  type: { ...TEXT, placeholder: 'TEXT', help: 'a label, such as email.welcome' },
  priority: { ...TEXT, placeholder: 'WORD', help: 'critical, high, normal, low or bulk' },
  group: { ...TEXT, placeholder: 'TEXT', help: 'share --group-concurrency of the worker with this group' },
  tags: { ...TEXT, placeholder: 'LIST', help: 'tags to find the task by: urgent,eu' },
} as const;

/** Where to push a task or a test. */
export const PUSH_TO_FLAG = {
  ...TEXT,
  placeholder: 'URL',
  help: 'push it there; for a worker made with --task-urls',
} as const;

/** What a task, a test or a schedule sends. */
export const PAYLOAD_FLAGS = {
  payload: { ...TEXT, placeholder: 'JSON', help: 'the payload, or @FILE to read it from a file' },
  'payload-base64': {
    ...TEXT,
    placeholder: 'TEXT',
    help: 'bytes instead of JSON, in base64; or @FILE to send the bytes of a file',
  },
  'content-type': {
    ...TEXT,
    placeholder: 'TYPE',
    help: 'of --payload-base64; without it, application/octet-stream',
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
      `--payload is not JSON: ${asError(cause).message}. A text goes in quotes: '"text"'.`,
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
    throw new CommandFault(`the payload cannot be read: ${asError(cause).message}`, { cause });
  }
}
