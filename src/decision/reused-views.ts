/** Longer views are made each time: few messages are, and the list of kept ones stays short. */
const LONGEST = 4_096;

/**
 * Views of the beginning of a buffer that is filled again and again. Making one takes as long as encoding a response, so
 * there is one for each length, kept for the next message that has it.
 */
export class ReusedViews {
  #bytes: Uint8Array = new Uint8Array(0);
  #views: (Uint8Array | undefined)[] = [];

  /** `bytes[0, length)`; the same object each time while `bytes` is the same. */
  of(bytes: Uint8Array, length: number): Uint8Array {
    if (length > LONGEST) return bytes.subarray(0, length);
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#views = [];
    }
    let view = this.#views[length];
    if (view === undefined) {
      view = bytes.subarray(0, length);
      this.#views[length] = view;
    }
    return view;
  }
}
