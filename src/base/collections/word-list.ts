/** A growing list of 32-bit words. */
export class WordList {
  words = new Int32Array(1024);
  length = 0;

  /** Appends `count` zero words and returns the index of the first one. */
  allocate(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.words.length) {
      let capacity = this.words.length * 2;
      while (capacity < this.length) capacity *= 2;
      const larger = new Int32Array(capacity);
      larger.set(this.words.subarray(0, at));
      this.words = larger;
    }
    return at;
  }

  view(): Int32Array {
    return this.words.subarray(0, this.length);
  }
}
