import t from 'tap';
import { ask, HOUR, SECOND, scenario, tenant, until } from './scenario.ts';
import type { Step } from './steps/step.ts';

t.setTimeout(240_000);

// What users of other schedulers and queues have reported, and what our documentation promises instead.

/** A task of this type. */
function task(at: number, type: string, fields: object = {}, of = 'acme'): Step {
  return ask(at, 'POST', 'tasks', { worker: 'mailer', type, ...fields }, of);
}

/** A batch of a hundred tasks. */
function flood(at: number, of: string, deed: string): Step {
  const tasks = times(100, () => ({ worker: 'mailer', type: 'flood', payload: { deeds: [deed] } }));
  return ask(at, 'POST', 'tasks/batch', { tasks }, of);
}

function times<T>(count: number, make: (number: number) => T): T[] {
  return Array.from({ length: count }, (_, number) => make(number));
}

scenario(
  t,
  'the tasks that waited while their worker was paused do not start all at once',
  {
    steps: [
      ...tenant('acme', { concurrency: 3, rate: { limit: 5, per: '1s', burst: 5 } }),
      ask(SECOND, 'PATCH', 'workers/mailer', { paused: true }),
      ...times(60, number => task(2_000 + number * 100, 'waiting', { payload: { deeds: ['ok:100'] } })),
      ask(20 * SECOND, 'PATCH', 'workers/mailer', { paused: false }),
      until(40 * SECOND),
    ],
  },
  (seen, t) => {
    const starts = seen.startsOf('waiting').map(({ at }) => at);
    t.equal(starts.length, 60);
    t.ok(
      starts.every(at => at >= 20 * SECOND),
      'none starts before',
    );
    const most = Math.max(
      ...starts.map(at => starts.filter(other => other >= at && other < at + SECOND).length),
    );
    t.ok(most <= 10, `${most} start within a second`);
  },
);

for (const [what, trouble] of [
  [
    'is suspended',
    { at: 5_000, do: 'operator', tenant: 'globex', method: 'PATCH', body: { status: 'suspended' } },
  ],
  [
    'has a receiver that never answers',
    { at: 5_000, do: 'receiver', tenant: 'globex', worker: 'mailer', ms: 60_000, how: 'hangs' },
  ],
  ['has no store', { at: 5_000, do: 'outage', tenant: 'globex', ms: 60_000, hangs: false }],
] satisfies [string, Step][]) {
  scenario(
    t,
    `a tenant that ${what} stops no other`,
    {
      steps: [
        ...tenant('acme'),
        ...tenant('globex', { concurrency: 50 }),
        ...times(100, number => task(2_000 + number * 200, 'stopped', {}, 'globex')),
        trouble,
        ...times(40, number => task(6_000 + number * SECOND, `free-${number}`)),
        until(60 * SECOND),
      ],
    },
    (seen, t) => {
      const late = times(40, number => {
        const [{ at }] = seen.startsOf(`free-${number}`);
        return at - (6_000 + number * SECOND);
      });
      t.ok(Math.max(...late) < 2_500, `tasks of the other start within ${Math.max(...late)} ms`);
    },
  );
}

scenario(
  t,
  'tenants with little to do wait for no tenant with a thousand tasks, whether its receivers are quick or slow',
  {
    steps: [
      ...tenant('acme'),
      ...tenant('globex', { concurrency: 1000 }),
      ...tenant('initech', { concurrency: 1000 }),
      ...times(5, number => flood(2_000 + number * 100, 'globex', 'ok:300')),
      ...times(5, number => flood(2_000 + number * 100, 'initech', 'ok:4000')),
      ...times(30, number => task(3_000 + number * 300, `light-${number}`)),
      until(90 * SECOND),
    ],
  },
  (seen, t) => {
    const late = times(30, number => seen.startsOf(`light-${number}`)[0].at - (3_000 + number * 300));
    t.ok(Math.max(...late) < SECOND, `light tasks start within ${Math.max(...late)} ms`);
    t.equal(seen.startsOf('flood').length, 1_000);
  },
);

for (const operation of ['claim', 'settle'] as const)
  for (const kind of ['dies_before', 'dies_after'] as const)
    scenario(
      t,
      `a process that dies at a ${operation} (${kind}) loses no task, and none stays running`,
      {
        steps: [
          ...tenant('acme', { retry: { max_attempts: 3, base: '1s' } }),
          { at: 1_500, do: 'fault', process: 0, operation, kind, ms: 0 },
          task(2_000, 'taken', { payload: { deeds: ['ok:200'] } }),
          until(30 * SECOND),
        ],
      },
      (seen, t) => {
        t.strictSame(seen.ends.get('taken'), ['succeeded']);
        const [first, second] = seen.startsOf('taken');
        // The lease lasts for the timeout and 15 s. What died before its claim had nothing.
        if (second !== undefined)
          t.ok(second.at - first.at < 25 * SECOND, `it starts again after ${second.at - first.at} ms`);
      },
    );

scenario(
  t,
  'a restart creates no duplicates: each request has one task, however often it is repeated',
  {
    processes: 2,
    steps: [
      ...tenant('acme'),
      ...times(20, number =>
        ask(2_000 + number * 50, 'POST', 'tasks', {
          worker: 'mailer',
          type: 'once',
          payload: { label: `once-${number}` },
        }),
      ),
      { at: 2_000, do: 'network', ms: 4_000, percent: 60 },
      { at: 2_300, do: 'crash', process: 0, downMs: SECOND },
      { at: 2_600, do: 'crash', process: 1, downMs: SECOND },
      until(30 * SECOND),
    ],
  },
  (seen, t) => {
    t.equal(new Set(seen.startsOf('once').map(({ id }) => id)).size, 20);
    t.strictSame(seen.ends.get('once'), Array(20).fill('succeeded'));
  },
);

scenario(
  t,
  'a bulk task is overtaken only by tasks that become due within five minutes after it',
  {
    steps: [
      ...tenant('acme', { concurrency: 1 }),
      task(2_000, 'first', { payload: { deeds: ['ok:3000'] } }),
      task(2_500, 'bulk', { priority: 'bulk', payload: { deeds: ['ok:1000'] } }),
      ...times(150, number =>
        task(3_000 + number * 2_500, 'critical', { priority: 'critical', payload: { deeds: ['ok:3000'] } }),
      ),
      until(400 * SECOND),
    ],
  },
  (seen, t) => {
    const [{ at }] = seen.startsOf('bulk');
    t.ok(
      at > 290 * SECOND && at < 400 * SECOND,
      `it starts after ${Math.round(at / SECOND)} s, although urgent tasks wait`,
    );
  },
);

scenario(
  t,
  'tasks that fail together are not retried together, and ever more seldom',
  {
    steps: [
      ...tenant('acme', { concurrency: 100, retry: { max_attempts: 5, base: '5s', factor: 3, jitter: 0.2 } }),
      ...times(50, () => task(2_000, 'storm', { payload: { deeds: ['fail:10', 'fail:10', 'fail:10'] } })),
      until(120 * SECOND),
    ],
  },
  (seen, t) => {
    for (const [attempt, least] of [
      [2, 4],
      [3, 12],
      [4, 36],
    ] as const) {
      const starts = seen
        .startsOf('storm')
        .filter(start => start.attempt === attempt)
        .map(({ at }) => at);
      const most = Math.max(
        ...starts.map(at => starts.filter(other => other >= at && other < at + 100).length),
      );
      t.equal(starts.length, 50);
      t.ok(most <= 20, `attempt ${attempt}: at most ${most} of 50 in a tenth of a second`);
      t.ok(Math.min(...starts) > least * SECOND, `attempt ${attempt} begins after ${Math.min(...starts)} ms`);
    }
    t.strictSame(seen.ends.get('storm'), Array(50).fill('succeeded'));
  },
);

scenario(
  t,
  'tasks that have ended are removed when their time is over, and not before',
  {
    steps: [
      ...tenant('acme'),
      {
        at: 400,
        do: 'operator',
        tenant: 'acme',
        method: 'PATCH',
        body: { limits: { retain_succeeded: '1h', retain_other: '2h' } },
      },
      task(2_000, 'succeeds', { payload: { deeds: ['ok:10'] } }),
      task(2_000, 'fails', { payload: { deeds: ['fatal'] } }),
      task(2_000, 'waits', { delay: '3h' }),
      // A host that was suspended wakes up, three times.
      ...[10, 70, 130].map(s => ({ at: s * SECOND, do: 'clock', process: null, byMs: 0.6 * HOUR }) as const),
      until(190 * SECOND),
      { at: 191 * SECOND, do: 'clock', process: null, byMs: HOUR },
      until(250 * SECOND),
    ],
  },
  (seen, t) => {
    t.strictSame(
      seen.removed.map(({ type }) => type),
      ['succeeds', 'fails'],
    );
    const [succeeded, failed] = seen.removed.map(({ at }) => at);
    t.ok(succeeded >= HOUR && succeeded < 1.3 * HOUR, `after ${succeeded} ms`);
    t.ok(failed >= 2 * HOUR && failed < 2.9 * HOUR, `after ${failed} ms`);
  },
);

scenario(
  t,
  'a task that waits for its fourth attempt still makes it when its attempts are lowered to three, and no other',
  {
    steps: [
      ...tenant('acme', { retry: { max_attempts: 5, base: '5s', factor: 1, jitter: 0 } }),
      ...(['succeeds', 'fails'] as const).map(type => {
        const deeds = [...Array(3).fill('fail:10'), type === 'fails' ? 'fail:10' : 'ok:10'];
        return { ...task(2_000, type, { payload: { deeds } }), labels: [type] };
      }),
      ask(14 * SECOND, 'PATCH', 'tasks/{succeeds}', { retry: { max_attempts: 3 } }),
      ask(14 * SECOND, 'PATCH', 'tasks/{fails}', { retry: { max_attempts: 3 } }),
      until(40 * SECOND),
    ],
  },
  (seen, t) => {
    for (const [type, end] of [
      ['succeeds', 'succeeded'],
      ['fails', 'failed'],
    ]) {
      const attempts = seen.startsOf(type).map(({ attempt }) => attempt);
      t.strictSame(attempts, [1, 2, 3, 4]);
      t.strictSame(seen.ends.get(type), [end]);
    }
  },
);

scenario(
  t,
  'a worker that is overloaded is left alone for as long as it asks, by all of its tasks',
  {
    steps: [
      ...tenant('acme'),
      task(2_000, 'asks', { payload: { deeds: ['wait:20'] } }),
      ...times(10, number => task(3_000 + number * 500, 'waits')),
      until(40 * SECOND),
    ],
  },
  (seen, t) => {
    const starts = seen.startsOf('waits').map(({ at }) => at);
    t.equal(starts.length, 10);
    t.ok(
      Math.min(...starts) >= 22 * SECOND,
      `the first of the others starts after ${Math.min(...starts)} ms`,
    );
  },
);

scenario(
  t,
  'a list that is read page by page skips no task while others end',
  {
    delayMs: 30,
    steps: [
      ...tenant('acme', { concurrency: 5 }),
      ...times(30, number =>
        task(2_000 + number * 30, 'ends', { payload: { deeds: [`ok:${50 + number * 10}`] } }),
      ),
      ...times(10, number => task(2_010 + number * 90, 'stays', { delay: '30s' })),
      ...times(
        6,
        number =>
          ({
            at: 2_800 + number * 300,
            do: 'pages',
            tenant: 'acme',
            query: 'limit=2&status=scheduled',
          }) as const,
      ),
      ...times(
        6,
        number =>
          ({ at: 2_900 + number * 300, do: 'pages', tenant: 'acme', query: 'limit=3&order=asc' }) as const,
      ),
      until(20 * SECOND),
    ],
  },
  (seen, t) => t.equal(seen.startsOf('ends').length, 30),
);
