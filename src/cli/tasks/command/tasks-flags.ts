import { PAYLOAD_FLAGS } from './payload.ts';

const TEXT = { kind: 'text', default: '' } as const;

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

export const CREATE_ACCOUNT_FLAGS = {
  service: SERVICE_FLAGS.service,
  export: { kind: 'switch', help: 'print shell commands that set SLUICE_URL and SLUICE_TOKEN, nothing else' },
  json: COMMON_FLAGS.json,
} as const;

/** Fields of a worker. */
export const WORKER_FLAGS = {
  'on-finish': {
    ...TEXT,
    placeholder: 'NAME',
    help: 'another worker that gets a task when a task has ended, or none',
  },
  events: {
    ...TEXT,
    placeholder: 'LIST',
    help: 'with --on-finish: succeeded,failed,canceled,expired or some of them',
  },
  'push-to': { ...TEXT, placeholder: 'URL', help: 'push tasks there; a new worker without it pulls' },
  concurrency: { ...TEXT, placeholder: 'N', help: 'maximum number of attempts at the same time, or none' },
  limit: {
    ...TEXT,
    placeholder: 'LIMIT',
    help: 'count each start as a hit: DOMAIN:KEY=VALUE,KEY=VALUE, or none',
  },
  timeout: { ...TEXT, placeholder: 'DURATION', help: 'longest time of an attempt' },
  'group-concurrency': {
    ...TEXT,
    placeholder: 'N',
    help: 'maximum number for tasks of the same group, or none',
  },
  'group-order': {
    ...TEXT,
    placeholder: 'WORD',
    help: 'any, or fifo: one after the other, with --group-concurrency 1',
  },
} as const;

export const UPDATE_WORKER_FLAGS = { ...COMMON_FLAGS, ...WORKER_FLAGS } as const;

export const ADD_WORKER_FLAGS = {
  ...UPDATE_WORKER_FLAGS,
  'task-urls': { kind: 'switch', help: 'push each task to the URL that the task names' },
  secret: {
    kind: 'switch',
    help: 'make what the worker needs: a signing secret, or the token of a pull worker',
  },
  export: {
    kind: 'switch',
    help: 'like --secret, and print only a shell command that sets WEBHOOK_SECRET or WORKER_TOKEN',
  },
} as const;

export const CREATE_FLAGS = {
  ...COMMON_FLAGS,
  ...PAYLOAD_FLAGS,
  'push-to': { ...TEXT, placeholder: 'URL', help: 'push it there; for a worker made with --task-urls' },
  type: { ...TEXT, placeholder: 'TEXT', help: 'a label, such as email.welcome' },
  priority: { ...TEXT, placeholder: 'WORD', help: 'critical, high, normal, low or bulk' },
  delay: { ...TEXT, placeholder: 'DURATION', help: 'start no earlier than after this delay: 1h30m' },
  'run-at': { ...TEXT, placeholder: 'TIME', help: 'start no earlier than then: 2026-03-01T10:00:00Z' },
  'expires-in': { ...TEXT, placeholder: 'DURATION', help: 'expire if it has not started within this time' },
  key: { ...TEXT, placeholder: 'TEXT', help: 'at most one live task of the worker has this key' },
  'on-conflict': {
    ...TEXT,
    placeholder: 'WORD',
    help: 'if the key is taken: return, reject, replace or replace_keep_time',
  },
  group: { ...TEXT, placeholder: 'TEXT', help: 'share --group-concurrency of the worker with this group' },
  tags: { ...TEXT, placeholder: 'LIST', help: 'tags to find the task by: urgent,eu' },
} as const;

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

export const LIST_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  limit: { kind: 'text', placeholder: 'N', default: '50', help: 'how many at most' },
} as const;

export const HISTORY_FLAGS = {
  ...COMMON_FLAGS,
  follow: { kind: 'switch', help: 'go on printing until the task has ended' },
  newest: { kind: 'switch', help: 'of the task that was made last, instead of one that is named' },
} as const;

export const ACT_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  'dry-run': { kind: 'switch', help: 'only say how many there are' },
} as const;

/** For what cannot be undone. */
export const YES_FLAG = { kind: 'switch', help: 'do not ask' } as const;

export const CANCEL_FLAGS = { ...ACT_FLAGS, yes: YES_FLAG } as const;

export const RETRY_FLAGS = {
  ...ACT_FLAGS,
  failed: { kind: 'switch', help: 'all tasks that failed, instead of those named' },
} as const;

export const TEST_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'push-to': CREATE_FLAGS['push-to'],
  ...PAYLOAD_FLAGS,
} as const;

const TIMING_FLAGS = {
  cron: { ...TEXT, placeholder: 'TEXT', help: "when to fire: '30 2 * * *', '@daily'" },
  every: { ...TEXT, placeholder: 'DURATION', help: 'fire at this interval, instead of --cron: 1h30m' },
  timezone: { ...TEXT, placeholder: 'NAME', help: 'time zone of --cron: Europe/Berlin; without it, UTC' },
  'start-at': { ...TEXT, placeholder: 'TIME', help: 'no run before then: 2026-03-01T10:00:00Z' },
  'end-at': { ...TEXT, placeholder: 'TIME', help: 'no run then or later' },
} as const;

/** Fields of a schedule. */
export const SCHEDULE_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  'max-runs': { ...TEXT, placeholder: 'N', help: 'end after this number of runs' },
  jitter: { ...TEXT, placeholder: 'DURATION', help: 'delay each run by up to this much' },
  overlap: { ...TEXT, placeholder: 'WORD', help: 'skip, allow, queue_one or cancel_running' },
  ...PAYLOAD_FLAGS,
  type: CREATE_FLAGS.type,
  priority: CREATE_FLAGS.priority,
  group: CREATE_FLAGS.group,
  tags: CREATE_FLAGS.tags,
  'expires-in': {
    ...TEXT,
    placeholder: 'DURATION',
    help: 'expire tasks that have not started this long after their time',
  },
} as const;

export const CREATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  paused: { kind: 'switch', help: 'create it paused' },
} as const;

export const UPDATE_SCHEDULE_FLAGS = {
  ...SCHEDULE_FLAGS,
  worker: { ...TEXT, placeholder: 'NAME', help: 'create tasks for this worker from now on' },
} as const;

export const PREVIEW_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  count: { kind: 'text', placeholder: 'N', default: '10', help: 'number of times to show, at most 50' },
  from: { ...TEXT, placeholder: 'TIME', help: 'start there instead of now' },
} as const;
