/** Workers with tasks that are due and wait, and since when: for the statistics, exact to within the claims in between. */
export class DueWorkers {
  readonly #since = new Map<string, number>();

  /** The worker may have tasks that are due since then. */
  add(worker: string, since: number): void {
    if (!this.#since.has(worker)) this.#since.set(worker, since);
  }

  /** Tasks were started, the last of which had been due since `since`; more are due. */
  renew(worker: string, since: number | undefined): void {
    if (since !== undefined) this.#since.set(worker, since);
  }

  delete(worker: string): void {
    this.#since.delete(worker);
  }

  /** How long the oldest has waited; 0 when none waits. */
  oldestMs(nowMs: number): number {
    let oldest = nowMs;
    for (const since of this.#since.values()) if (since < oldest) oldest = since;
    return nowMs - oldest;
  }
}
