import type { Clock, Timer } from './clock.ts';
import type { LogFields, Logger } from './logger.ts';

/** A warning is written this long after the first thing that it counts, and counts all until then. */
const GATHERED_MS = 1_000;

/** A warning about what may happen very often: one line a second at most, which tells how often it has happened. */
export class CountedWarning {
  readonly #parts: { readonly log: Logger; readonly clock: Clock };
  readonly #message: string;
  readonly #fields: LogFields;
  #count = 0;
  #timer: Timer | null = null;

  /** @param fields of every line, next to `count` */
  constructor(
    parts: { readonly log: Logger; readonly clock: Clock },
    message: string,
    fields: LogFields = {},
  ) {
    this.#parts = parts;
    this.#message = message;
    this.#fields = fields;
  }

  /** It has happened once more. */
  add(): void {
    this.#count++;
    this.#timer ??= this.#parts.clock.after(GATHERED_MS, () => this.flush());
  }

  /** Writes what has been counted, if anything. Whoever owns this calls it at the end. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#count === 0) return;
    this.#parts.log.warning(this.#message, { count: this.#count, ...this.#fields });
    this.#count = 0;
  }
}
