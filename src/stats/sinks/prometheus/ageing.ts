interface Seen {
  readonly value: number;
  readonly sinceMs: number;
}

/** Which series with a time to live have not changed for that time. Changes are noticed when somebody looks. */
export class Ageing {
  #seen: ReadonlyMap<string, Seen> = new Map();

  /** One look at all series, at this time. */
  look(nowMs: number): Look {
    const before = this.#seen;
    const found = new Map<string, Seen>();
    return {
      isOld(series, value, ttlMs) {
        const last = before.get(series);
        const seen = last?.value === value ? last : { value, sinceMs: nowMs };
        found.set(series, seen);
        return nowMs - seen.sinceMs > ttlMs;
      },
      done: () => {
        this.#seen = found;
      },
    };
  }
}

export interface Look {
  /** True when the series has had this value for longer than `ttlMs`. */
  isOld(series: string, value: number, ttlMs: number): boolean;
  /** All series that there are were asked for: the others are forgotten. */
  done(): void;
}
