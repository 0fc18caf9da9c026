/** The fingerprint of a key; see `Fingerprinter`. */
export interface CellPrint {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** What a cell counts, see `cell-states.ts`. */
export interface StoredCounter {
  readonly expiryS: number;
  readonly count: number;
  readonly extra: number;
}
