import { Outage, OutageLog } from '../../../base/outage-log.ts';
import { TROUBLES, type TroubleName, troublesOf } from '../../store/trouble.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

/** A component of `/readyz`. */
export type TroubledPart = 'task_store' | 'master_key';

/** Why tasks cannot be served. */
export interface NotReady {
  /** A word that the log and the statistics have, too. */
  readonly cause: TroubleName | 'wrong_master_key';
  /** The problem, its place and the next step. */
  readonly text: string;
}

/** Called when the problem of a part changes; null if the part works. */
export type NotReadyListener = (part: TroubledPart, notReady: NotReady | null) => void;

const TEXTS = {
  task_store: {
    began: 'The task store is unavailable; no task starts until it answers',
    over: 'The task store is available again',
  },
  master_key: {
    began:
      'The master key cannot decrypt secrets in the task store; no tasks are pushed to workers with such secrets',
    over: 'The master key can decrypt all secrets in the task store again',
  },
} as const;

const KEY_ADVICE =
  'set SECRETS_MASTER_KEY to the key of the task store, or add that key to SECRETS_PREVIOUS_MASTER_KEYS';

/**
 * Why tasks cannot be served, for `/readyz`, the log and the statistics, which all have the same names. A reason is one
 * line when it begins and one when the part works again.
 */
export class Troubles {
  readonly #thread: ThreadPart<'name', 'statistics' | 'clock' | 'logger'>;
  readonly #notReady: NotReadyListener;
  readonly #log: OutageLog;
  readonly #current = new Map<TroubledPart, NotReady>();
  /** Troubles whose first line was written, by part and cause. */
  readonly #open = new Map<TroubledPart, Map<NotReady['cause'], Outage>>();

  constructor(thread: ThreadPart<'name', 'statistics' | 'clock' | 'logger'>, notReady: NotReadyListener) {
    this.#thread = thread;
    this.#notReady = notReady;
    this.#log = new OutageLog(thread);
    const causes: NotReady['cause'][] = [...troublesOf(thread.store.name), 'wrong_master_key'];
    for (const cause of causes) {
      const isCurrent = () => [...this.#current.values()].some(trouble => trouble.cause === cause);
      thread.statistics.readNotReady(cause, () => Number(isCurrent()));
    }
  }

  /** A part has a problem. Earlier problems of the part stay open until it works again. */
  began(part: TroubledPart, notReady: NotReady): void {
    const { cause, text } = notReady;
    const before = this.#current.get(part);
    this.#current.set(part, notReady);
    if (before?.cause === cause && before.text === text) return;
    this.#notReady(part, notReady);
    const open = this.#open.get(part) ?? new Map<NotReady['cause'], Outage>();
    this.#open.set(part, open);
    const known = open.get(cause);
    if (known !== undefined) {
      known.lost(part, text);
      return;
    }
    const advice = cause === 'wrong_master_key' ? KEY_ADVICE : TROUBLES[cause].advice;
    const texts = { level: 'error', ...TEXTS[part], advice, fields: { cause } } as const;
    const outage = new Outage(texts, this.#log, this.#thread.clock);
    open.set(cause, outage);
    outage.lost(part, text);
  }

  /** Calls failed because of what is wrong with a part. */
  callsFailed(part: TroubledPart, calls: number): void {
    const current = this.#current.get(part);
    if (current !== undefined) this.#open.get(part)?.get(current.cause)?.callsFailed(calls);
  }

  /** A part works. */
  over(part: TroubledPart): void {
    if (!this.#current.delete(part)) return;
    const open = this.#open.get(part);
    this.#open.delete(part);
    for (const outage of open?.values() ?? []) outage.connected(part);
    this.#notReady(part, null);
  }

  stop(): void {
    this.#log.stop();
  }
}
