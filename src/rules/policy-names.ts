import type { RuleLimit } from './rule-set.ts';

/** Maximum number of characters of a policy name. Longer ones are cut, so that headers stay short. */
const LONGEST_NAME = 128;

/**
 * The name of a policy as callers see it: a String of RFC 9651 section 3.3.3 with its quotes, which is also a JSON string.
 * Bytes that such a String cannot contain are percent-encoded.
 */
export function quotedPolicyName(name: string): string {
  const ascii = name.replace(/[^ -~]+/g, run => {
    const bytes = Array.from(Buffer.from(run), byte => byte.toString(16).toUpperCase().padStart(2, '0'));
    return bytes.map(byte => `%${byte}`).join('');
  });
  return `"${ascii.slice(0, LONGEST_NAME).replace(/["\\]/g, '\\$&')}"`;
}

/** A range of the pool. */
interface PooledText {
  readonly offset: number;
  readonly length: number;
}

/**
 * Compiles the names of policies: the name of the limit, or else the domain and the keys of its entries, without their
 * values. Equal names have one text.
 */
export class PolicyNames {
  readonly #addText: (text: string) => PooledText;
  readonly #known = new Map<string, PooledText>();
  readonly #path: string[] = [];
  /** By limit: offset and length. */
  readonly #words: number[] = [];

  /** @param addText appends text to the pool */
  constructor(addText: (text: string) => PooledText) {
    this.#addText = addText;
  }

  /** Enters a domain, or the entry with a key: the limits that follow are below it, until {@link leave}. */
  enter(name: string): void {
    this.#path.push(name);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Adds the next limit, in the order of their numbers. */
  add({ name, item }: RuleLimit): void {
    const path = (): string => [...this.#path, ...(item === null ? [] : [item.level])].join('.');
    const quoted = quotedPolicyName(name === '' ? path() : name);
    let text = this.#known.get(quoted);
    if (text === undefined) {
      text = this.#addText(quoted);
      this.#known.set(quoted, text);
    }
    this.#words.push(text.offset, text.length);
  }

  /** The section of compiled rules. */
  words(): Int32Array {
    return Int32Array.from(this.#words);
  }
}
