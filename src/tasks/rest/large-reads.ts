import { Turns } from './threads/turns.ts';

/**
 * Reads whose answers may be as large as a page can be: few run at once, and the others wait, tenants in turn. Each takes
 * some milliseconds, but a caller with hundreds of connections could have the memory of the thread filled by as many.
 */
export class LargeReads {
  readonly #atOnce: number;
  readonly #waiting = new Turns<() => void>();
  #running = 0;

  /** @param atOnce so that what they hold, in the store's answers and in ours, is some 20 MiB */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** @param read reads and renders: what it holds is free when it ends */
  async run<T>(tenant: string, read: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await new Promise<void>(go => this.#waiting.add(tenant, go));
    else this.#running++;
    try {
      return await read();
    } finally {
      // The place goes to the next one, if there is one.
      const next = this.#waiting.next();
      if (next === null) this.#running--;
      else next();
    }
  }
}
