import { ACCOUNT_EXAMPLES } from './account-examples.ts';
import { NAMED } from './request-examples.ts';

const { ids, time, worker, email, actor } = NAMED;

const RETRY = {
  max_attempts: 12,
  base: '5s',
  factor: 2,
  max: '1h',
  jitter: 0.2,
  schedule: null,
  max_age: null,
};

const TASK = {
  id: ids.task,
  worker,
  worker_id: ids.worker,
  type: 'email.welcome',
  status: 'scheduled',
  priority: 'normal',
  run_at: '2026-03-01T10:15:00.000Z',
  next_attempt_at: '2026-03-01T10:15:00.000Z',
  expires_at: null,
  timeout: '30s',
  retry: RETRY,
  attempt: 0,
  max_attempts: 12,
  deferrals: 0,
  key: 'welcome:ann',
  key_ttl: '0s',
  tags: ['onboarding'],
  metadata: {},
  last_error: null,
  cancel_requested_at: null,
  group: null,
  schedule_id: null,
  scheduled_for: null,
  held_by: null,
  callback_of: null,
  created_by: actor,
  created_at: time,
  updated_at: time,
  started_at: null,
  finished_at: null,
  version: 1,
};

const CREATED_TASK = { ...TASK, deduplicated: false, key_free_at: null };

const SUCCEEDED_TASK = {
  ...TASK,
  status: 'succeeded',
  next_attempt_at: null,
  attempt: 1,
  updated_at: '2026-03-01T10:15:00.410Z',
  started_at: '2026-03-01T10:15:00.020Z',
  finished_at: '2026-03-01T10:15:00.410Z',
  version: 3,
};

const WORKER = {
  id: ids.worker,
  name: worker,
  mode: 'push',
  url: 'https://mail.example.com/tasks',
  task_urls: false,
  method: 'POST',
  headers: {},
  timeout: '30s',
  lease: '1m',
  retry: RETRY,
  concurrency: 10,
  rate: { limit: 50, per: '1s', burst: 50 },
  limit: null,
  group_concurrency: null,
  group_order: 'any',
  on_finish: null,
  priority: 'normal',
  no_retry_on: [400, 404],
  paused: false,
  pause_reason: null,
  resume_at: null,
  auto_pause: { after: '5d' },
  created_at: '2026-02-02T09:00:00.000Z',
  updated_at: '2026-02-02T09:00:00.000Z',
  version: 1,
};

const SECRET = {
  id: ids.secret,
  type: 'signing',
  name: 'default',
  fingerprint: '5f2b9c04d7e1',
  state: 'active',
  created_at: '2026-02-02T09:05:00.000Z',
  created_by: actor,
  last_used_at: null,
  expires_at: null,
};

const SCHEDULE = {
  id: ids.schedule,
  name: 'daily-report',
  worker,
  worker_id: ids.worker,
  task: {
    type: 'report.daily',
    payload: { to: email },
    headers: {},
    priority: null,
    timeout: null,
    retry: null,
    tags: [],
    metadata: {},
    group: null,
    expires_in: null,
  },
  cron: '30 7 * * 1-5',
  every: null,
  phase: '0s',
  timezone: 'Europe/Berlin',
  overlap: 'skip',
  catch_up: { mode: 'latest', window: '1h', max: 100 },
  dst: { gap: 'run_after', overlap: 'once' },
  jitter: '0s',
  start_at: null,
  end_at: null,
  max_runs: null,
  runs_left: null,
  paused: false,
  pause_reason: null,
  resume_at: null,
  next_runs: ['2026-03-02T06:30:00.000Z', '2026-03-03T06:30:00.000Z'],
  last_run: { scheduled_for: '2026-02-27T06:30:00.000Z', task_id: 'tsk_01KJEX4ER0M4E1S7QZ5T8W2XYC' },
  fired: 19,
  skipped_overlap: 0,
  skipped_window: 0,
  created_at: '2026-02-03T12:00:00.000Z',
  updated_at: '2026-02-27T06:30:00.000Z',
  version: 20,
};

/** Examples of bodies of responses, by the name of their schema. Those of lists are made from those of their items. */
export const ANSWER_EXAMPLES: Readonly<Record<string, object>> = {
  ...ACCOUNT_EXAMPLES,

  Task: {
    ...SUCCEEDED_TASK,
    payload: { to: email, template: 'welcome' },
    url: null,
    headers: {},
    result: { message_id: 'm-4711' },
  },
  CreatedTask: {
    ...CREATED_TASK,
    payload: { to: email, template: 'welcome' },
    url: null,
    headers: {},
    result: null,
  },
  TaskCounts: {
    counts: {
      scheduled: 1_180,
      running: 7,
      retry: 12,
      paused: 5,
      succeeded: 48_210,
      failed: 31,
      canceled: 2,
      expired: 0,
    },
  },
  NewTaskResults: {
    results: [
      { status: 201, task: CREATED_TASK },
      {
        status: 422,
        error: {
          code: 'validation_failed',
          title: 'Invalid field',
          detail: '/run_at must be at most 366 days ahead',
          errors: [
            { pointer: '/run_at', code: 'out_of_range', detail: '/run_at must be at most 366 days ahead' },
          ],
        },
      },
    ],
  },
  TaskActionResult: {
    matched: 31,
    changed: 30,
    skipped: [{ id: ids.task, code: 'invalid_transition' }],
    next_cursor: null,
  },
  HistoryEntry: {
    seq: 3,
    at: '2026-03-01T10:15:00.410Z',
    event: 'succeeded',
    from: 'running',
    to: 'succeeded',
    attempt: 1,
    actor: { type: 'worker', id: ids.worker },
    http: { status: 200, duration_ms: 390, response: '{"message_id":"m-4711"}', truncated: false },
  },

  Worker: WORKER,
  WorkerTest: {
    outcome: 'succeeded',
    duration_ms: 212,
    request: {
      method: 'POST',
      url: 'https://mail.example.com/tasks',
      headers: {
        host: 'mail.example.com',
        'content-type': 'application/json',
        'webhook-id': ids.task,
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
  Secret: SECRET,
  CreatedSecret: { ...SECRET, value: 'whsec_…' },

  Leases: {
    leases: [
      {
        lease_id: NAMED.lease,
        expires_at: '2026-03-01T10:16:00.000Z',
        traceparent: null,
        tracestate: null,
        task: {
          ...TASK,
          status: 'running',
          next_attempt_at: null,
          attempt: 1,
          started_at: '2026-03-01T10:15:00.000Z',
          version: 2,
          payload: { to: email, template: 'welcome' },
          url: null,
          headers: {},
          result: null,
        },
      },
    ],
  },
  HeartbeatResult: { expires_at: '2026-03-01T10:17:00.000Z', cancel_requested: false },
  OutcomeResults: {
    results: [
      { lease_id: NAMED.lease, status: 200, task: SUCCEEDED_TASK },
      {
        lease_id: '0b8e1f4d27c94a63b5d0e9f8a7c61234',
        status: 409,
        error: {
          code: 'lease_lost',
          title: 'The lease is no longer active',
          detail:
            'The lease is unknown or no longer active. Stop working on the task; its result is not recorded.',
        },
      },
    ],
  },

  Schedule: SCHEDULE,
  SchedulePreview: {
    timezone: 'Europe/Berlin',
    times: [
      { at: '2026-03-27T06:30:00.000Z', local: '2026-03-27T07:30:00+01:00', note: null },
      { at: '2026-03-30T05:30:00.000Z', local: '2026-03-30T07:30:00+02:00', note: null },
      { at: '2026-03-31T05:30:00.000Z', local: '2026-03-31T07:30:00+02:00', note: null },
    ],
  },
};
