/** Hits, compared between the candidate rules and the active ones. */
interface Compared {
  readonly hits: number;
  /** The candidate rules reject them. */
  readonly rejected: number;
  /** The active rules reject them. */
  readonly today: number;
  /** Only the candidate rules reject them. */
  readonly more: number;
  /** Only the active rules reject them. */
  readonly fewer: number;
}

/** A limit of the candidate rules; the path is null for all descriptors without a limit. */
export interface ComparedLimit extends Compared {
  readonly path: string | null;
  readonly meaning: string | null;
}

/** The answer of `GET /rehearsal`. */
export interface Rehearsal {
  readonly state: 'none' | 'running' | 'faults';
  readonly id: string | null;
  readonly source: string | null;
  readonly seconds: number | null;
  /** The share of keys that is decided. */
  readonly share: number | null;
  readonly reasons: readonly string[];
  readonly total: Compared | null;
  readonly limits: readonly ComparedLimit[];
  readonly keys: readonly {
    readonly path: string | null;
    readonly key: string;
    readonly outcome: 'rejected' | 'allowed';
    readonly count: number;
  }[];
}
