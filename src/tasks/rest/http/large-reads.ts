import { Turns } from './turns.ts';

/**
 * Limits the number of concurrent reads whose responses may be as large as a full page. Further reads wait, and tenants
 * take turns. Each read takes a few milliseconds only, but without a limit a caller with hundreds of connections could
 * fill the memory of the thread.
 */
export class LargeReads {
  readonly #atOnce: number;
  readonly #waiting = new Turns<() => void>();
  #running = 0;

  /**
   * @param atOnce maximum number of concurrent reads, chosen so that store responses and rendered pages take about 20
   * MiB
   */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** @param read reads and renders the page; the memory it uses is released when it ends */
  async run<T>(tenant: string, read: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await new Promise<void>(go => this.#waiting.add(tenant, go));
    else this.#running++;
    try {
      return await read();
    } finally {
      // Pass the slot on to the next waiting read, if any.
      const next = this.#waiting.next();
      if (next === null) this.#running--;
      else next();
    }
  }
}
