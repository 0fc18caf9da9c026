/** What a server has answered. */
export interface SeenActions {
  /** Numbers of actions. */
  readonly tokenBuckets: number;
  /** `ALLOW_ALL` and `DENY_ALL`, and buckets to forget. */
  readonly others: number;
  /** The largest token bucket, and the longest time that an assignment lasts. */
  readonly mostTokens: number;
  readonly longestTtlS: number;
}

/** The prefix of a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/** Tags of fields, as the server writes them. */
const TAG = { first: 0x0a, second: 0x12, third: 0x1a, number: 0x08 } as const;

/**
 * Counts the actions in the `RateLimitQuotaResponse`s of a stream, and decodes of them no more than that takes. It trusts
 * that fields are in their order.
 */
export class ActionScanner {
  #bytes = Buffer.allocUnsafe(65_536);
  #length = 0;
  #at = 0;
  #tokenBuckets = 0;
  #others = 0;
  #mostTokens = 0;
  #longestTtlS = 0;

  get seen(): SeenActions {
    return {
      tokenBuckets: this.#tokenBuckets,
      others: this.#others,
      mostTokens: this.#mostTokens,
      longestTtlS: this.#longestTtlS,
    };
  }

  /** Takes `bytes[start, end)` of the content of a stream, however it is cut. Returns the number of actions that are complete. */
  take(bytes: Uint8Array, start: number, end: number): number {
    this.#append(bytes, start, end);
    let at = 0;
    let actions = 0;
    while (this.#length - at >= PREFIX_BYTES) {
      const messageEnd = at + PREFIX_BYTES + this.#bytes.readUInt32BE(at + 1);
      if (messageEnd > this.#length) break;
      actions += this.#scan(at + PREFIX_BYTES, messageEnd);
      at = messageEnd;
    }
    if (at > 0) {
      this.#bytes.copyWithin(0, at, this.#length);
      this.#length -= at;
    }
    return actions;
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length = needed;
  }

  #scan(start: number, end: number): number {
    let actions = 0;
    this.#at = start;
    while (this.#at < end) {
      this.#enter(TAG.first);
      const actionEnd = this.#varint() + this.#at;
      this.#enter(TAG.first);
      const idEnd = this.#varint() + this.#at;
      this.#at = idEnd;
      if (this.#bytes[this.#at] === TAG.second) this.#assignment();
      else this.#others++;
      this.#at = actionEnd;
      actions++;
    }
    return actions;
  }

  #assignment(): void {
    this.#at++;
    const assignmentEnd = this.#varint() + this.#at;
    this.#enter(TAG.second);
    const ttlEnd = this.#varint() + this.#at;
    if (this.#at < ttlEnd) {
      this.#enter(TAG.number);
      this.#longestTtlS = Math.max(this.#longestTtlS, this.#varint());
    }
    this.#at = ttlEnd;
    this.#enter(TAG.third);
    this.#varint();
    if (this.#bytes[this.#at] === TAG.third) {
      this.#at++;
      this.#varint();
      this.#enter(TAG.number);
      this.#mostTokens = Math.max(this.#mostTokens, this.#varint());
      this.#tokenBuckets++;
    } else this.#others++;
    this.#at = assignmentEnd;
  }

  #enter(tag: number): void {
    if (this.#bytes[this.#at] !== tag)
      throw new Error(
        `a RateLimitQuotaResponse has the byte ${this.#bytes[this.#at]} and not the tag ${tag}`,
      );
    this.#at++;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
}
