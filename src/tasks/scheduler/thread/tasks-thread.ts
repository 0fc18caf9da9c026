import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { TenantLimits } from '../../model/documents.ts';
import type { Signals } from '../../model/signals.ts';
import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import type { Directory } from '../../store/directory.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** What all work of the task service in one thread shares. */
export interface TasksThread {
  /** Counts for itself (`measuredStore`). */
  readonly store: TaskStore;
  readonly directory: Directory;
  readonly signals: Signals;
  readonly sealer: Sealer;
  readonly statistics: TaskStatistics;
  /** Default limits of tenants, unless their operator has changed them. */
  readonly limits: TenantLimits;
  /** The clock of the store. */
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly randomBytes: (count: number) => Buffer;
  readonly logger: Logger;
}

/** What a piece of work uses of its thread: some operations of the store, and some of the rest. */
export type ThreadPart<
  Operations extends keyof TaskStore,
  Rest extends Exclude<keyof TasksThread, 'store'> = never,
> = { readonly store: Pick<TaskStore, Operations> } & Pick<TasksThread, Rest>;
