import type { OperationName } from '../../../src/tasks/store/operations.ts';

/** `model` shares no code with the product; `sqlite` is the product's, in memory; `both` compares each of their answers. */
export type StoreKind = 'model' | 'sqlite' | 'both';

/**
 * What becomes of an operation of the store:
 *
 * - `refused`: it does not happen, and the caller is told so
 * - `lost`: it does not happen, and the caller is told that it may have
 * - `unanswered`: it happens, and the caller is told that it may have not
 * - `afterwards`: the same, and it happens some time after the caller was told
 * - `late`: it happens late
 * - `dies_before`, `dies_after`: the process dies when it asks; the operation does not happen, or it does
 */
export const STORE_FAULTS = [
  'refused',
  'lost',
  'unanswered',
  'afterwards',
  'late',
  'dies_before',
  'dies_after',
] as const;
export type StoreFaultKind = (typeof STORE_FAULTS)[number];

/** A call of the interface. `{label}` in a path stands for the task that the call with this label has created. */
export interface Ask {
  readonly do: 'ask';
  readonly tenant: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api/v1/`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Names of what it creates: tasks, a user, a token, a secret. */
  readonly labels?: readonly string[];
  /** The person that asks; the owner unless given. Its user has the label `NAMEuser`, its token the label `NAMEtoken`. */
  readonly as?: string;
  /** The person whose token is in the answer. */
  readonly gives?: string;
}

/** What happens in a history beside what the service does by itself. Each is data, so others can be left out. */
export type Action =
  | Ask
  /** A call of the operator about an account: `POST` creates it. */
  | {
      readonly do: 'operator';
      readonly tenant: string;
      readonly method: 'POST' | 'PATCH' | 'DELETE';
      readonly body?: Readonly<Record<string, unknown>>;
    }
  /** Somebody who asks for tasks of a pull worker all the time: a person, or the owner. */
  | {
      readonly do: 'pull';
      readonly tenant: string;
      readonly worker: string;
      readonly max: number;
      readonly as?: string;
    }
  /** The call that has created what has this label is made again, with its `Idempotency-Key`. */
  | { readonly do: 'again'; readonly tenant: string; readonly label: string }
  /** Somebody who reads all pages of a list. */
  | { readonly do: 'pages'; readonly tenant: string; readonly query: string }
  | { readonly do: 'crash'; readonly process: number; readonly downMs: number }
  /** A shutdown as a person would do it, and the start of the next process. */
  | { readonly do: 'restart'; readonly process: number; readonly downMs: number }
  /** The next operation of this name, of this process or of any, has a fault. */
  | {
      readonly do: 'fault';
      readonly process: number | null;
      readonly operation: OperationName;
      readonly kind: StoreFaultKind;
      readonly ms: number;
    }
  /** The store does not answer: for all, or for one tenant. */
  | { readonly do: 'outage'; readonly tenant: string | null; readonly ms: number; readonly hangs: boolean }
  /** Somebody sets the clock of the store's host, or of a process. */
  | { readonly do: 'clock'; readonly process: number | null; readonly byMs: number }
  /** Calls of the interface are lost on their way, or their answers. */
  | { readonly do: 'network'; readonly ms: number; readonly percent: number }
  /** A receiver refuses connections, never answers, or answers 500. */
  | {
      readonly do: 'receiver';
      readonly tenant: string;
      readonly worker: string;
      readonly ms: number;
      readonly how: 'refuses' | 'hangs' | 'fails';
    }
  /** What one thread of a process tells another is lost, as between processes. */
  | { readonly do: 'signals'; readonly process: number; readonly ms: number }
  /** Nothing but time passes: the last step of a history that is to last longer. */
  | { readonly do: 'wait' };

export type Step = Action & {
  /** Milliseconds since the begin. */
  readonly at: number;
};

/** A whole history: what happens in it follows from this alone. */
export interface History {
  readonly seed: number;
  readonly store: StoreKind;
  /** Time at the begin, as ISO 8601. */
  readonly start: string;
  readonly processes: number;
  /** `TASKS_PUSH_CONCURRENCY`. */
  readonly slots: number;
  /** How long messages take at most; 0 for no time at all. */
  readonly delayMs: number;
  readonly steps: readonly Step[];
}
