import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface CancelParts {
  readonly documents: KnownDocuments;
  /** Whether anything went wrong from this time of the history on. */
  readonly wasTroubled: (fromMs: number) => boolean;
  /** How long messages may take in all while something is done. */
  readonly messagesMs: number;
  readonly nowMs: () => number;
  readonly report: Report;
}

/** Each process looks every second for requests that others took, among attempts that have lasted for a second. */
const PROMPT_MS = 2_500;

/** Whether a push ends when its task is to be canceled, whichever process took the request. */
export class CancelChecks {
  readonly #parts: CancelParts;
  /** By tenant and task: when it was to be canceled, and when its attempt began. */
  readonly #asked = new Map<string, number>();
  readonly #began = new Map<string, number>();

  constructor(parts: CancelParts) {
    this.#parts = parts;
  }

  heard({ tenant, before, after, by }: TaskChanged): void {
    const { documents, wasTroubled, messagesMs, nowMs, report } = this.#parts;
    const name = `${tenant}\n${(after ?? before)!.id}`;
    if (by === 'started') this.#began.set(name, nowMs());
    if (by === 'cancel' && after?.status === 'running') this.#asked.set(name, nowMs());
    if (before?.status !== 'running' || after === null || after.status === 'running') return;
    const askedMs = this.#asked.get(name);
    this.#asked.delete(name);
    if (askedMs === undefined || documents.now(tenant, 'worker', after.workerId)?.mode !== 'push') return;
    const tookMs = nowMs() - askedMs;
    // The process that makes the push may have died since.
    if (tookMs > PROMPT_MS + messagesMs && !wasTroubled(this.#began.get(name)! - PROMPT_MS))
      report(
        'running tasks can be canceled',
        `the push of ${after.id} ended ${tookMs} ms after it was asked to`,
      );
  }
}
