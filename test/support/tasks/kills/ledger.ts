/** What callers were answered, and so what must hold in the end. */
export class Ledger {
  /** Ids of tasks whose creation was answered with success. */
  readonly created = new Set<string>();
  /** Ids of tasks whose removal was asked for; whether it happened is known only of those answered. */
  readonly removing = new Set<string>();
  readonly removed = new Set<string>();
  /** Ids of tasks whose request to cancel was answered with success. */
  readonly canceled = new Set<string>();
  /** Attempts whose end was answered with success: the task, the event of its history, and the end of the lease. */
  readonly settled: { readonly id: string; readonly event: string; readonly suffix: string }[] = [];
  /** What contradicts an answer that was given before, or should not have been answered at all. */
  readonly faults: string[] = [];
  /** How many answers there were, by kind. */
  readonly answers = new Map<string, number>();
  readonly #byKey = new Map<string, string>();

  count(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
  }

  /** A request with this key was answered with success; the same request must always be answered with the same tasks. */
  answered(key: string, ids: readonly string[]): void {
    const text = ids.join();
    const before = this.#byKey.get(key);
    if (before === undefined) this.#byKey.set(key, text);
    else if (before !== text) this.faults.push(`${key} was answered with ${before}, and then with ${text}`);
    for (const id of ids) this.created.add(id);
  }
}
