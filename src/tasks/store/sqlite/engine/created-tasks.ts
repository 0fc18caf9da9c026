import type { Task } from '../../../model/task.ts';
import { resolveTime } from '../../../model/time.ts';
import type { CreateAnswer, CreateResult, NewTask } from '../../requests.ts';
import type { Operation } from '../operations/operations.ts';

/** Stands for a task that was just created: the fields that do not follow from the request. */
interface Made {
  readonly kind: 'made';
  /** The time of the store's step. */
  readonly at: number;
  readonly heldBy: string | null;
}
type ShortAnswer =
  | Exclude<CreateAnswer, { kind: 'done' | 'replayed' }>
  | {
      readonly kind: 'done' | 'replayed';
      readonly results: readonly (CreateResult | Made)[];
      readonly note: string;
    };

/**
 * Removes from the answer to `create` what the caller already knows, because copying a task to another thread takes as long
 * as writing it. Other answers are not changed.
 */
export function shortened({ name }: Operation, answer: unknown): unknown {
  if (name !== 'create') return answer;
  const whole = answer as CreateAnswer;
  if (whole.kind !== 'done') return whole;
  const results = whole.results.map(result =>
    result.kind === 'created'
      ? ({ kind: 'made', at: result.task.updatedAt, heldBy: result.task.heldBy } satisfies Made)
      : result,
  );
  return { ...whole, results } satisfies ShortAnswer;
}

/** Reverses {@link shortened}. */
export function restored(operation: Operation, answer: unknown): unknown {
  if (operation.name !== 'create') return answer;
  const short = answer as ShortAnswer;
  if (short.kind !== 'done') return short;
  const { tasks } = operation.args[1];
  const results = short.results.map((result, i) =>
    result.kind === 'made' ? { kind: 'created', task: madeTask(tasks[i], result) } : result,
  );
  return { ...short, results };
}

function madeTask({ task }: NewTask, { at, heldBy }: Made): Task {
  const runAt = resolveTime(task.runAt, at);
  return {
    ...task,
    runAt,
    expiresAt: resolveTime(task.expiresAt, at),
    heldBy,
    status: 'scheduled',
    dueAt: heldBy === null ? runAt : null,
    attempt: 0,
    deferrals: 0,
    lastError: null,
    cancelRequestedAt: null,
    updatedAt: at,
    startedAt: null,
    finishedAt: null,
    version: 1,
  };
}
