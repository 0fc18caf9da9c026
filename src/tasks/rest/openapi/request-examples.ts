/** Ids and names that examples of requests and responses share, so that they tell one story. */
export const NAMED = {
  domain: 'acme',
  worker: 'mailer',
  email: 'ann@example.com',
  time: '2026-03-01T10:00:00.000Z',
  lease: '9f3c5a7be01d48269ab4c7d8e2f60315',
  ids: {
    account: 'acc_01KGC3EG00C94Q4X0KKFV7C7FQ',
    user: 'usr_01KGC3EG00V26QP49B7MNEJWH8',
    token: 'tok_01KGC3EG00T71S5B8TQPW774AM',
    worker: 'wrk_01KGES92M0V4T7WHYM31W5M4F2',
    secret: 'sec_01KGESJ7K04JXJCQMZY9VFS4JH',
    schedule: 'sch_01KGHNZCG0AF9TZ8WY9CPAZZWD',
    task: 'tsk_01KJMDEB80YE9B22TCBGDJ8VM9',
    request: 'req_01KJMDEB80HE29JN297FGY8D2J',
  },
  /** Who has made all changes. */
  actor: { type: 'user', id: 'usr_01KGC3EG00V26QP49B7MNEJWH8' },
} as const;

const NEW_TASK = {
  worker: NAMED.worker,
  type: 'email.welcome',
  payload: { to: NAMED.email, template: 'welcome' },
  key: 'welcome:ann',
  delay: '15m',
  tags: ['onboarding'],
};

const TIMING = { cron: '30 7 * * 1-5', timezone: 'Europe/Berlin' };

/** Examples of bodies of requests, by the name of their schema. */
export const REQUEST_EXAMPLES: Readonly<Record<string, object>> = {
  NewAccount: { domain: NAMED.domain },
  AccountChange: { limits: { in_flight: 50, retain_other: '14d' } },
  NewUser: { email: NAMED.email, name: 'Ann', role: 'admin' },
  UserChange: { role: 'member' },
  NewToken: {
    name: 'deployment',
    scopes: ['tasks:read', 'tasks:write'],
    expires_at: '2026-06-01T00:00:00.000Z',
  },

  NewTask: NEW_TASK,
  NewTasks: {
    tasks: [
      NEW_TASK,
      {
        worker: NAMED.worker,
        type: 'email.reminder',
        payload: { to: NAMED.email },
        run_at: '2026-03-02T09:00:00Z',
      },
    ],
  },
  TaskChanges: { priority: 'high', run_at: '2026-03-01T12:00:00Z' },
  TaskAction: {
    action: 'retry',
    filter: { worker: NAMED.worker, status: 'failed', start: '-24h' },
    limit: 500,
    dry_run: true,
  },

  NewWorker: {
    name: NAMED.worker,
    url: 'https://mail.example.com/tasks',
    timeout: '30s',
    concurrency: 10,
    rate: { limit: 50, per: '1s' },
    retry: { max_attempts: 12, base: '5s', factor: 2, max: '1h' },
    no_retry_on: [400, 404],
  },
  WorkerChanges: {
    concurrency: 20,
    paused: true,
    pause_reason: 'maintenance',
    resume_at: '2026-03-01T12:00:00Z',
  },
  WorkerTestFields: { payload: { to: NAMED.email } },
  NewSecret: { type: 'signing', expire_previous_in: '24h' },

  LeaseRequest: { max: 10, wait: '20s', lease: '60s', instance: 'mailer-7f9c' },
  Heartbeat: { extend: '60s', progress: 40, note: '400 of 1000 rows' },
  Completion: { result: { message_id: 'm-4711' } },
  Failure: { error: { code: 'smtp_timeout', message: 'mail.example.com did not answer' }, retry_after: '5m' },
  Release: { delay: '30s' },
  Outcomes: {
    outcomes: [
      { lease_id: NAMED.lease, outcome: 'complete', result: { message_id: 'm-4711' } },
      { lease_id: '0b8e1f4d27c94a63b5d0e9f8a7c61234', outcome: 'release', delay: '30s' },
    ],
  },

  NewSchedule: {
    name: 'daily-report',
    worker: NAMED.worker,
    ...TIMING,
    task: { type: 'report.daily', payload: { to: NAMED.email } },
    overlap: 'skip',
  },
  ScheduleChanges: { cron: '0 8 * * 1-5', end_at: '2026-12-31T00:00:00Z' },
  SchedulePreviewFields: { ...TIMING, from: '2026-03-27T00:00:00Z', count: 3 },
};
