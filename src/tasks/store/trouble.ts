import { Fault } from '../../base/fault.ts';

/** A reason why a store does not take what is written, and what helps. */
interface Trouble {
  /** The store that can have it. */
  readonly of: 'sqlite' | 'redis' | 'every';
  readonly advice: string;
}

/** By the name that `/readyz`, the log and the statistics have for it. `docs/tasks/operations.md` has a row for each. */
export const TROUBLES = {
  disk_full: { of: 'sqlite', advice: 'make room on the file system of TASKS_DATA_DIRECTORY' },
  file_locked: { of: 'sqlite', advice: 'end the program that holds the lock; lsof or fuser shows it' },
  file_moved: {
    of: 'sqlite',
    advice: 'move the file back to its place, or restart the service to use what is there now',
  },
  file_read_only: {
    of: 'sqlite',
    advice: 'see the owner and mode of the file, and how its file system is mounted',
  },
  file_failed: { of: 'sqlite', advice: 'see the log of the system, and the rights on the directory' },
  file_damaged: { of: 'sqlite', advice: 'restore the file from a backup' },
  redis_read_only: { of: 'redis', advice: 'let TASKS_REDIS_URL lead to the master' },
  redis_replicas: {
    of: 'redis',
    advice: 'bring the replicas back, or lower min-replicas-to-write',
  },
  redis_memory: {
    of: 'redis',
    advice: 'raise maxmemory, or keep finished tasks for a shorter time (TASKS_RETAIN_SUCCEEDED)',
  },
  redis_disk: { of: 'redis', advice: 'see the log of Redis: it cannot write to its disk' },
  redis_access: { of: 'redis', advice: 'correct user and password, or the ACL of the user' },
  redis_settings: { of: 'redis', advice: 'change the settings of Redis as the reason says' },
  redis_busy: { of: 'redis', advice: 'wait until Redis has loaded its data, or end the script that runs' },
  redis_cluster: { of: 'redis', advice: 'see CLUSTER INFO on the nodes' },
  not_connected: { of: 'redis', advice: 'start Redis, or correct TASKS_REDIS_URL' },
  no_answer: { of: 'every', advice: 'see the load of the host of the store, and its disk' },
  other: { of: 'every', advice: 'see the reason' },
} as const satisfies Readonly<Record<string, Trouble>>;

export type TroubleName = keyof typeof TROUBLES;

/** The names of what can be wrong with a store of this kind. */
export function troublesOf(store: 'memory' | 'sqlite' | 'redis'): readonly TroubleName[] {
  const names = Object.keys(TROUBLES) as TroubleName[];
  return names.filter(name => TROUBLES[name].of === 'every' || TROUBLES[name].of === store);
}

/** The fault `store_failed` of a task store, with the name of the reason. */
export class StoreFault extends Fault {
  readonly trouble: TroubleName;

  constructor(trouble: TroubleName, message: string, options?: ErrorOptions) {
    super('store_failed', message, options);
    this.trouble = trouble;
  }
}

/** A {@link StoreFault} as a message between threads. */
export interface SentFault {
  readonly trouble: TroubleName;
  readonly message: string;
}

export function sentFault(failure: Error): SentFault {
  return { trouble: troubleIn(failure), message: failure.message };
}

export function receivedFault({ trouble, message }: SentFault): StoreFault {
  return new StoreFault(trouble, message);
}

/** The reason why an operation of a store failed. */
export function troubleIn(failure: unknown): TroubleName {
  return failure instanceof StoreFault ? failure.trouble : 'other';
}
