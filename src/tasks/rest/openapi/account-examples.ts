import { NAMED } from './request-examples.ts';

const { ids, time, worker, email, actor } = NAMED;

const USER = {
  id: ids.user,
  email,
  name: 'Ann',
  role: 'admin',
  status: 'active',
  external_id: null,
  last_seen_at: time,
  created_at: '2026-02-01T08:00:00.000Z',
  updated_at: '2026-02-01T08:00:00.000Z',
  version: 1,
};

const TOKEN = {
  id: ids.token,
  user_id: ids.user,
  name: 'deployment',
  scopes: ['tasks:read', 'tasks:write'],
  expires_at: '2026-06-01T00:00:00.000Z',
  last_used_at: null,
  created_at: time,
  created_by: actor,
};

const LISTED_ACCOUNT = {
  id: ids.account,
  domain: NAMED.domain,
  api_url: 'https://acme.tasks.example.com/api/v1',
  status: 'active',
  created_at: '2026-02-01T08:00:00.000Z',
};

const LIMITS = {
  open_tasks: 1_000_000,
  retain_succeeded: '7d',
  retain_other: '30d',
  payload_bytes: 262_144,
  workers: 100,
  schedules: 1_000,
  users: 100,
  tokens_per_user: 50,
  in_flight: 200,
  dispatch_per_second: 500,
};

const USE = { open_tasks: 1_204, workers: 3, schedules: 1, users: 2, in_flight: 7 };

const MINUTE = {
  tasks_created: 42,
  attempts_started: 45,
  attempts_failed: 3,
  tasks_succeeded: 41,
  tasks_failed: 1,
  tasks_canceled: 0,
  tasks_expired: 0,
  duration_p50_ms: 210,
  duration_p95_ms: 860,
  start_lag_p50_ms: 12,
  start_lag_p95_ms: 95,
};

/** Examples of responses about an account, its users and its use, by the name of their schema. */
export const ACCOUNT_EXAMPLES: Readonly<Record<string, object>> = {
  Account: {
    ...LISTED_ACCOUNT,
    owner: { id: ids.user },
    token: 'tk_acme_…',
    token_expires_at: '2027-02-02T08:00:00.000Z',
  },
  ListedAccount: LISTED_ACCOUNT,
  AccountState: {
    ...LISTED_ACCOUNT,
    owners: 1,
    limits: { ...LIMITS, retain_other: '14d', in_flight: 50 },
    changed_limits: ['retain_other', 'in_flight'],
    use: USE,
    deletion: null,
  },
  OwnerToken: {
    id: ids.token,
    user_id: ids.user,
    token: 'tk_acme_…',
    expires_at: '2027-03-02T10:00:00.000Z',
  },
  User: USER,
  Token: TOKEN,
  MadeToken: { ...TOKEN, token: 'tk_acme_…' },
  Me: {
    account: { id: ids.account, domain: NAMED.domain, status: 'active' },
    user: { id: ids.user, email, name: 'Ann' },
    role: 'admin',
    token: { id: ids.token, name: 'deployment', expires_at: '2026-06-01T00:00:00.000Z' },
    scopes: ['tasks:read', 'tasks:write'],
  },
  Limits: { limits: LIMITS, use: USE, time_zone_data: '2026a' },
  AuditEntry: {
    id: 'aud_01KGES92M0YB0SV4FC4YSQC7XC',
    at: '2026-02-02T09:00:00.000Z',
    action: 'worker.created',
    actor,
    token_id: ids.token,
    target_id: ids.worker,
    target_name: worker,
    changed: ['name', 'url'],
    details: {},
    request_id: ids.request,
  },
  Usage: {
    from: '2026-03-01T09:58:00.000Z',
    to: '2026-03-01T09:59:30.000Z',
    interval_seconds: 60,
    worker: null,
    series: [
      { at: '2026-03-01T09:58:00.000Z', ...MINUTE },
      { at: '2026-03-01T09:59:00.000Z', ...MINUTE },
    ],
    totals: {
      ...MINUTE,
      tasks_created: 84,
      attempts_started: 90,
      attempts_failed: 6,
      tasks_succeeded: 82,
      tasks_failed: 2,
    },
    limits: {
      in_flight: { limit: 200, used: 7 },
      dispatch_per_second: { limit: 500, used: 0.75 },
      open_tasks: { limit: 1_000_000, used: 1_204 },
      workers: { limit: 100, used: 3 },
      schedules: { limit: 1_000, used: 1 },
      users: { limit: 100, used: 2 },
      read_calls: { limit: 400, used: 3, window_seconds: 1 },
      write_calls: { limit: 200, used: 1, window_seconds: 1 },
    },
  },
};
