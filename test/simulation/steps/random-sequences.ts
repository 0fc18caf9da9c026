import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Deed } from './plan.ts';
import { newLabel, type RandomTenant } from './random-tenants.ts';
import type { Ask, Step } from './step.ts';

/** What happens to one task, and when after its creation. */
interface Later {
  readonly afterMs: number;
  readonly method?: Ask['method'];
  /** Below the task; that of all tasks if it begins with a slash. */
  readonly path?: string;
  readonly body?: Ask['body'];
}

interface Sequence {
  readonly task: object;
  readonly deeds: readonly Deed[];
  readonly afterwards: readonly Later[];
}

const CHANGE: Pick<Later, 'method' | 'body'> = { method: 'PATCH', body: { tags: ['blue'] } };

/** How long the work of each deed lasts at least, until which a request to cancel comes in time. */
const AT_WORK: readonly (readonly [Deed, number])[] = [
  ['hang', 500],
  ['wait:1', 150],
  ['fatal', 150],
  ['fail:400', 400],
  ['ok:3000', 500],
];

/** A task is to be canceled while somebody works on it, who may not know of it yet. */
function cancelAtWork(random: SeededRandom): Sequence {
  const [deed, ms] = random.pick(AT_WORK);
  return { task: {}, deeds: [deed], afterwards: [{ afterMs: 10 + random.below(ms), path: 'cancel' }] };
}

/** The same when the time for an answer is nearly over. */
function cancelLate(random: SeededRandom): Sequence {
  const afterMs = 1_980 - random.below(500);
  return { task: { timeout: '2s' }, deeds: ['hang'], afterwards: [{ afterMs, path: 'cancel' }] };
}

/** A task that waits for a retry is paused, changed and resumed. */
function pauseRetry(random: SeededRandom): Sequence {
  return {
    task: { retry: { max_attempts: 4, base: '3s', jitter: 0 } },
    deeds: ['fail:5', 'fail:5'],
    afterwards: [
      { afterMs: 900, path: 'pause' },
      { afterMs: 1_300, ...CHANGE },
      { afterMs: 1_800 + random.below(3_000), path: 'resume' },
    ],
  };
}

/** A task with a key is paused and replaced. */
function replacePaused(random: SeededRandom): Sequence {
  const key = `paused-${random.below(1_000_000)}`;
  return {
    task: { key, delay: '2s' },
    deeds: [],
    afterwards: [
      { afterMs: 500, path: 'pause' },
      { afterMs: 900, ...CHANGE },
      { afterMs: 1_300, path: '/', body: { key, on_conflict: 'replace', payload: { deeds: ['ok:5'] } } },
      { afterMs: 1_700 + random.below(2_000), path: 'resume' },
    ],
  };
}

/** A task that has ended in one of four ways is started again. */
function replay(random: SeededRandom): Sequence {
  const [task, deed, ended] = random.pick<readonly [object, Deed, readonly Later[]]>([
    [{ delay: '1s', expires_in: '1001ms' }, 'ok:5', []],
    [{ delay: '1s', expires_in: '1001ms' }, 'ok:5', []],
    [{ delay: '3s' }, 'ok:5', [{ afterMs: 600, path: 'cancel' }]],
    [{}, 'fatal', []],
    [{}, 'ok:5', []],
  ]);
  return {
    task,
    deeds: [deed],
    afterwards: [...ended, { afterMs: 4_000 + random.below(2_000), path: 'retry' }],
  };
}

const SEQUENCES = [cancelAtWork, cancelAtWork, cancelLate, pauseRetry, replacePaused, replay];

/** Steps that belong together: by themselves they seldom come in this order. */
export function randomSequence(random: SeededRandom, tenant: RandomTenant, at: number): Step[] {
  const { task, deeds, afterwards } = random.pick(SEQUENCES)(random);
  const worker = random.pick(tenant.workers).name;
  const label = newLabel(tenant);
  const call = { do: 'ask', tenant: tenant.name } as const;
  const body = { worker, payload: { label, deeds }, ...task };
  return [
    { at, ...call, method: 'POST', path: 'tasks', body, labels: [label] },
    ...afterwards.map(({ afterMs, method = 'POST', path = '', body }): Step => {
      const step = { at: at + afterMs, ...call, method };
      if (path === '/') return { ...step, path: 'tasks', body: { worker, ...body } };
      return {
        ...step,
        path: `tasks/{${label}}${path === '' ? '' : `/${path}`}`,
        ...(body !== undefined && { body }),
      };
    }),
  ];
}
