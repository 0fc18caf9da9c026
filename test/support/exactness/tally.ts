/** One descriptor of an answered call, as its counter saw it. */
export interface Op {
  /** Number of the call. */
  readonly call: number;
  /** Hits that were added. */
  readonly hits: number;
  /** The count after them; null when over the limit, where the answer does not tell. */
  readonly after: number | null;
}

/** What the answers say about one counter. */
export interface Tally {
  readonly ops: Op[];
  /** Hits of answered calls. */
  answered: number;
  /** Hits of failed calls that may have been counted. */
  uncertain: number;
}

/** Ops that were within the limit, in the order in which the counter saw them. */
export function passedInOrder(tally: Tally): (Op & { readonly after: number })[] {
  const passed = tally.ops.filter((op): op is Op & { after: number } => op.after !== null);
  // Those that only ask stand before the one that goes on from the count that they were told.
  return passed.sort((a, b) => a.after - a.hits - (b.after - b.hits) || a.after - b.after);
}
