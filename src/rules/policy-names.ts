import { createHash } from 'node:crypto';
import { MAPPED_ANSWERS, NAMES_POLICIES } from './domain-answers.ts';
import type { RuleLimit, RuleSet } from './rule-set.ts';

/** Maximum number of characters of a policy name. Longer ones are cut, so that headers stay short. */
const LONGEST_NAME = 128;

/** What a cut name ends with: a tilde, and the first digits of the SHA-256 of the whole name. */
const DIGEST_DIGITS = 8;
const LONGEST_HEAD = LONGEST_NAME - 1 - DIGEST_DIGITS;

/** Every character that a String cannot contain as it is, and `%`. A lone surrogate is a character as well. */
const ENCODED = /[^ -$&-~]/gu;

/**
 * The name of a policy as callers see it: a String of RFC 9651 section 3.3.3 with its quotes, which is also a JSON string.
 * Bytes that such a String cannot contain are percent-encoded, and so is `%`, so that decoding gives the name again.
 * Different names have different policy names, also if they are cut.
 */
export function quotedPolicyName(name: string): string {
  const ascii = name.replace(ENCODED, percentEncoded);
  const short = ascii.length <= LONGEST_NAME ? ascii : `${headOf(name)}~${digestOf(name)}`;
  return `"${short.replace(/["\\]/g, '\\$&')}"`;
}

/** The first characters of a name, encoded. No character is cut in two. */
function headOf(name: string): string {
  let head = '';
  for (const character of name) {
    const encoded = character.replace(ENCODED, percentEncoded);
    if (head.length + encoded.length > LONGEST_HEAD) break;
    head += encoded;
  }
  return head;
}

function percentEncoded(character: string): string {
  return Array.from(Buffer.from(character), hexOf).join('');
}

function hexOf(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, DIGEST_DIGITS);
}

/** Whether an answer may name policies. @param answers what the settings enable for all answers */
export function namesPolicies({ domains }: RuleSet, answers: number): boolean {
  const enabled = domains.reduce(
    (any, domain) =>
      any | (domain.answers?.enabled ?? 0) | (domain.requests === undefined ? 0 : MAPPED_ANSWERS),
    answers,
  );
  return (enabled & NAMES_POLICIES) !== 0;
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
