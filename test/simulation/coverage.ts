import { FINAL_STATUSES } from '../../src/tasks/model/task.ts';
import { OPERATION_NAMES } from '../../src/tasks/store/operations.ts';

const FAILURES = ['retry', 'failed', 'canceled'] as const;

/** Every change of a status that there is: by what, from where, and to where. */
const CHANGES: readonly string[] = [
  'created: none → scheduled',
  ...same('replaced', ['scheduled', 'paused']),
  ...same('update', ['scheduled', 'running', 'retry', 'paused']),
  ...['scheduled', 'retry'].map(from => `pause: ${from} → paused`),
  ...['scheduled', 'retry'].map(to => `resume: paused → ${to}`),
  ...['scheduled', 'retry', 'paused'].map(from => `cancel: ${from} → canceled`),
  ...same('cancel', ['running']),
  ...FINAL_STATUSES.map(from => `replay: ${from} → scheduled`),
  ...same('run', ['scheduled', 'retry']),
  ...['scheduled', 'retry'].map(from => `expire: ${from} → expired`),
  ...['scheduled', 'retry'].map(from => `started: ${from} → running`),
  'succeeded: running → succeeded',
  ...['attempt_failed', 'timed_out', 'lease_expired'].flatMap(by =>
    FAILURES.map(to => `${by}: running → ${to}`),
  ),
  ...['deferred', 'released'].flatMap(by => ['retry', 'canceled'].map(to => `${by}: running → ${to}`)),
  ...['failed', 'canceled'].map(to => `no_retry: running → ${to}`),
  'canceled: running → canceled',
  ...same('let go', ['scheduled']),
];

function same(by: string, statuses: readonly string[]): string[] {
  return statuses.map(status => `${by}: ${status} → ${status}`);
}

/** What has happened in many histories, of what can happen. */
export class Coverage {
  readonly #seen = new Map<string, number>();

  add(coverage: ReadonlyMap<string, number>): void {
    for (const [what, count] of coverage) this.#seen.set(what, (this.#seen.get(what) ?? 0) + count);
  }

  /** Lines for a person. */
  lines(): string[] {
    const missing = CHANGES.filter(change => !this.#seen.has(`change ${change}`));
    const operations = OPERATION_NAMES.filter(name => this.#seen.has(`operation ${name}`));
    const troubles = [...this.#seen].filter(([what]) => what.startsWith('trouble '));
    const calls = [...this.#seen.keys()].filter(what => what.startsWith('call '));
    const sum = troubles.reduce((all, [, count]) => all + count, 0);
    return [
      `changes of a status: ${CHANGES.length - missing.length} of ${CHANGES.length}${missing.length === 0 ? '' : `; not ${missing.join(', ')}`}`,
      `operations of the store: ${operations.length} of ${OPERATION_NAMES.length}; not ${OPERATION_NAMES.filter(name => !operations.includes(name)).join(', ') || 'any'}`,
      `troubles: ${sum} of ${troubles.length} kinds`,
      `calls: ${calls.length} pairs of a route and a status`,
    ];
  }

  /** How often a change, an operation, a trouble or a call was seen, by the words for it. */
  count(what: string): number {
    return this.#seen.get(what) ?? 0;
  }
}
