import { describeFlags } from '../flags.ts';

const TEXT = { kind: 'text', default: '' } as const;

export const COMMON_FLAGS = {
  url: { ...TEXT, placeholder: 'URL', help: "the tenant's address; without it, SLUICE_URL" },
  json: { kind: 'switch', help: 'print what the service answered, as JSON' },
} as const;

export const CREATE_ACCOUNT_FLAGS = {
  service: {
    kind: 'text',
    placeholder: 'URL',
    default: 'http://localhost:8080',
    help: 'where the service is, without a tenant',
  },
  export: { kind: 'switch', help: 'print shell commands that set SLUICE_URL and SLUICE_TOKEN, nothing else' },
  json: COMMON_FLAGS.json,
} as const;

export const ADD_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'push-to': { ...TEXT, placeholder: 'URL', help: 'push tasks there; without it the worker pulls' },
  'task-urls': { kind: 'switch', help: 'push each task to the URL that the task names' },
  concurrency: { ...TEXT, placeholder: 'N', help: 'tasks at once' },
  timeout: { ...TEXT, placeholder: 'DURATION', help: 'longest time of an attempt' },
  secret: {
    kind: 'switch',
    help: 'make what the worker needs: a signing secret, or the token of a pull worker',
  },
  export: {
    kind: 'switch',
    help: 'the same, printed as a shell command that sets WEBHOOK_SECRET, or WORKER_TOKEN for a pull worker',
  },
} as const;

export const CREATE_FLAGS = {
  ...COMMON_FLAGS,
  payload: { ...TEXT, placeholder: 'JSON', help: 'the payload, or @FILE to read it from a file' },
  'push-to': { ...TEXT, placeholder: 'URL', help: 'push it there; for a worker made with --task-urls' },
  type: { ...TEXT, placeholder: 'TEXT', help: 'a label, such as email.welcome' },
  priority: { ...TEXT, placeholder: 'WORD', help: 'critical, high, normal, low or bulk' },
  delay: { ...TEXT, placeholder: 'DURATION', help: 'start no earlier than so long from now: 1h30m' },
  'run-at': { ...TEXT, placeholder: 'TIME', help: 'start no earlier than then: 2026-03-01T10:00:00Z' },
  key: { ...TEXT, placeholder: 'TEXT', help: 'at most one live task of the worker has this key' },
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

export const RETRY_FLAGS = {
  ...ACT_FLAGS,
  failed: { kind: 'switch', help: 'all tasks that failed, instead of those named' },
} as const;

export const TEST_WORKER_FLAGS = {
  ...COMMON_FLAGS,
  'push-to': CREATE_FLAGS['push-to'],
  payload: { ...TEXT, placeholder: 'JSON', help: 'the body to send, or @FILE to read it from a file' },
} as const;

const TIMING_FLAGS = {
  cron: { ...TEXT, placeholder: 'TEXT', help: "when to fire: '30 2 * * *', '@daily'" },
  every: { ...TEXT, placeholder: 'DURATION', help: 'fire at this interval, instead of --cron: 1h30m' },
  timezone: { ...TEXT, placeholder: 'NAME', help: 'time zone of --cron: Europe/Berlin; without it, UTC' },
  'start-at': { ...TEXT, placeholder: 'TIME', help: 'no run before then: 2026-03-01T10:00:00Z' },
  'end-at': { ...TEXT, placeholder: 'TIME', help: 'no run then or later' },
} as const;

export const CREATE_SCHEDULE_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  'max-runs': { ...TEXT, placeholder: 'N', help: 'end after this number of runs' },
  jitter: { ...TEXT, placeholder: 'DURATION', help: 'delay each run by up to this much' },
  overlap: { ...TEXT, placeholder: 'WORD', help: 'skip, allow, queue_one or cancel_running' },
  paused: { kind: 'switch', help: 'create it paused' },
  payload: CREATE_FLAGS.payload,
  type: CREATE_FLAGS.type,
  priority: CREATE_FLAGS.priority,
} as const;

export const PREVIEW_FLAGS = {
  ...COMMON_FLAGS,
  ...TIMING_FLAGS,
  count: { kind: 'text', placeholder: 'N', default: '10', help: 'number of times to show, at most 50' },
  from: { ...TEXT, placeholder: 'TIME', help: 'start there instead of now' },
} as const;

export const TASKS_USAGE = `Usage: sluice tasks <what> [flags]

  sluice tasks create-account DOMAIN     make a tenant, and show its first token
  sluice tasks add-worker NAME           make a worker
  sluice tasks workers                   list workers
  sluice tasks workers test NAME         send a test request to a push worker
  sluice tasks create WORKER             make a task
  sluice tasks list                      list tasks, the newest first
  sluice tasks show TASK                 one task, whole
  sluice tasks history TASK | --newest   what happened to a task
  sluice tasks retry TASK... | --failed  start ended tasks again
  sluice tasks cancel TASK...            cancel tasks
  sluice tasks pause TASK...             hold waiting tasks
  sluice tasks resume TASK...            let paused tasks go on
  sluice tasks schedules                 list schedules
  sluice tasks schedules create NAME WORKER
                                         create a schedule
  sluice tasks schedules show|pause|resume|trigger|delete NAME
                                         one schedule; trigger makes a task of it now
  sluice tasks schedules preview [NAME]  when a schedule fires, or would fire with the flags below

The tenant and the token are those of SLUICE_URL and SLUICE_TOKEN; create-account takes the token of the operator,
where the service wants one, from ACCOUNTS_OPERATOR_TOKEN.

Flags of create-account:
${describeFlags(CREATE_ACCOUNT_FLAGS)}
Flags of all others:
${describeFlags(COMMON_FLAGS)}
Flags of add-worker:
${describeFlags(ownFlags(ADD_WORKER_FLAGS))}
Flags of create:
${describeFlags(ownFlags(CREATE_FLAGS))}
Flags of list:
${describeFlags(ownFlags(LIST_FLAGS))}
Flags of history:
${describeFlags(ownFlags(HISTORY_FLAGS))}
Flags of retry, cancel, pause and resume: in place of names, the filters of list (--failed is of retry):
${describeFlags({ 'dry-run': ACT_FLAGS['dry-run'], failed: RETRY_FLAGS.failed })}
Flags of workers test:
${describeFlags(ownFlags(TEST_WORKER_FLAGS))}
Flags of schedules create:
${describeFlags(ownFlags(CREATE_SCHEDULE_FLAGS))}
Flags of schedules preview:
${describeFlags(ownFlags(PREVIEW_FLAGS))}
Exit status: 0 it was done, 1 some of it was not, 2 it could not be done.

Example:
  eval "$(sluice tasks create-account acme --export)"
  eval "$(sluice tasks add-worker mailer --push-to http://localhost:9000/ --export)"
  sluice tasks create mailer --payload '{"to":"ann@example.com"}'
  sluice tasks history --newest --follow
`;

function ownFlags<T extends Parameters<typeof describeFlags>[0]>(
  table: T,
): Parameters<typeof describeFlags>[0] {
  return Object.fromEntries(Object.entries(table).filter(([name]) => !Object.hasOwn(COMMON_FLAGS, name)));
}
