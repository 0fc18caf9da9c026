import { Fault } from '../../base/fault.ts';

/** A reason why a store does not accept writes, and what to do about it. */
interface Trouble {
  /** The store that can have it. `servers`: those that are not in this process. */
  readonly of: 'sqlite' | 'redis' | 'postgres' | 'servers' | 'every';
  readonly advice: string;
}

/** By the name that `/readyz`, the log and the statistics have for it. `docs/tasks/operations.md` has a row for each. */
export const TROUBLES = {
  disk_full: { of: 'sqlite', advice: 'free space on the file system of TASKS_DATA_DIRECTORY' },
  file_locked: { of: 'sqlite', advice: 'stop the program that holds the lock; lsof or fuser shows it' },
  file_moved: {
    of: 'sqlite',
    advice: 'move the file back to its place, or restart the service to use what is there now',
  },
  file_read_only: {
    of: 'sqlite',
    advice: 'check the owner and mode of the file, and how its file system is mounted',
  },
  file_failed: { of: 'sqlite', advice: 'check the system log and the permissions of the directory' },
  file_damaged: { of: 'sqlite', advice: 'restore the file from a backup' },
  redis_read_only: { of: 'redis', advice: 'let TASKS_REDIS_URL lead to the master' },
  redis_replicas: {
    of: 'redis',
    advice: 'restore the replicas, or lower min-replicas-to-write',
  },
  redis_memory: {
    of: 'redis',
    advice: 'raise maxmemory, or keep finished tasks for a shorter time (TASKS_RETAIN_SUCCEEDED)',
  },
  redis_disk: { of: 'redis', advice: 'check the log of Redis, which cannot write to its disk' },
  redis_access: { of: 'redis', advice: 'correct the user name and password, or the ACL of the user' },
  redis_settings: { of: 'redis', advice: 'change the settings of Redis as stated in the reason' },
  redis_busy: { of: 'redis', advice: 'wait until Redis has loaded its data, or kill the running script' },
  redis_cluster: { of: 'redis', advice: 'run CLUSTER INFO on the nodes' },
  postgres_read_only: { of: 'postgres', advice: 'let TASKS_POSTGRES_URL lead to the primary' },
  postgres_access: {
    of: 'postgres',
    advice:
      'correct the user, the password (also in TASKS_POSTGRES_PASSWORD_FILE) and the database in ' +
      'TASKS_POSTGRES_URL, or the rights of the user',
  },
  postgres_layout: {
    of: 'postgres',
    advice: 'restart the service, which creates missing tables and functions',
  },
  postgres_disk: { of: 'postgres', advice: 'free space on the disk of PostgreSQL, and check its log' },
  postgres_connections: {
    of: 'postgres',
    advice: 'raise max_connections of PostgreSQL, or lower TASKS_POSTGRES_CONNECTIONS',
  },
  not_connected: {
    of: 'servers',
    advice: 'start the server of the store, or correct TASKS_REDIS_URL or TASKS_POSTGRES_URL',
  },
  no_answer: { of: 'every', advice: 'check the load and the disk of the host of the store' },
  other: { of: 'every', advice: 'see the reason' },
} as const satisfies Readonly<Record<string, Trouble>>;

export type TroubleName = keyof typeof TROUBLES;

/** The names of the troubles that a store of this kind can have. */
export function troublesOf(store: 'memory' | 'sqlite' | 'redis' | 'postgres'): readonly TroubleName[] {
  const names = Object.keys(TROUBLES) as TroubleName[];
  const isServer = store === 'redis' || store === 'postgres';
  const kinds: readonly Trouble['of'][] = ['every', ...(isServer ? (['servers'] as const) : [])];
  return names.filter(name => TROUBLES[name].of === store || kinds.includes(TROUBLES[name].of));
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
