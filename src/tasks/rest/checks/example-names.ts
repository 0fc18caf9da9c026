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
