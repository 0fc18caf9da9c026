/** A moment at which a process kills itself. */
export interface CrashPoint {
  /** An operation of the store, or `deliver`: the moment at which a task is given to what pushes it. */
  readonly operation: 'create' | 'claim' | 'settle' | 'deliver';
  /** `commit`: all is written and nothing is committed; for SQLite in the thread that asks. */
  readonly when: 'before' | 'commit' | 'after';
}

/** What a run of `crashing-process.ts` does. */
export interface CrashPlan {
  readonly store:
    | { readonly kind: 'sqlite'; readonly path: string; readonly thread: 'own' | 'same' }
    | { readonly kind: 'redis'; readonly port: number; readonly keyPrefix: string };
  /** Null: it goes on to the end. */
  readonly point: CrashPoint | null;
  /** A task that is pushed, one that is pulled, or one that a schedule makes. */
  readonly work: 'push' | 'pull' | 'schedule';
  /** Where tasks are pushed to. */
  readonly url: string;
  /** Of the account that the run before has made; null to make it. */
  readonly token: string | null;
  /** A lease that the run before was given. */
  readonly oldLease: string | null;
}

/** What it says: a line of JSON for each of these, as it comes to know them. */
export interface CrashNews {
  readonly token?: string;
  /** The answer to the request that makes the task, which is the same in each run. */
  readonly created?: { readonly status: number; readonly id: string; readonly replayed: boolean };
  readonly lease?: string;
  /** What ending the attempt of the run before was answered. */
  readonly oldLease?: number;
  /** All tasks have ended, and so does the process. */
  readonly ended?: true;
}

export const CRASH_DOMAIN = 'acme';
/** How long leases of a run that crashes last: nobody in it ends one, so the next run need not wait. */
export const CRASH_LEASE_MS = 300;
