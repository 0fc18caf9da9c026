import { createHash, type Hash } from 'node:crypto';
import type { TokenRule } from './request-mapping.ts';
import {
  type ClassRule,
  isDefaultQuota,
  isWildcard,
  type QuotaRule,
  type RuleEntry,
  type RuleSet,
} from './rule-set.ts';

/** Number of hex digits that people see. */
const SHORT_DIGITS = 16;

/** Fields that say where a rule is written, and not what it does, or that repeat others. */
const NOT_HASHED: ReadonlySet<string> = new Set<keyof RuleEntry | keyof TokenRule>([
  'place',
  'overlaidBy',
  'composite',
  'jwksPath',
]);

/** Number of characters that are hashed at once. */
const CHUNK_CHARACTERS = 65_536;

/** Strings and numbers as `JSON.stringify` writes them; true for a flag that is set. */
type Scalar = string | number | boolean;

/**
 * The digest of a checked set of rules: the SHA-256 of what the rules say, in hex digits. Sets that decide all requests
 * in the same way because they say the same have the same digest: it does not depend on files, lines, comments, spelling
 * and the order of domains, entries, classes and replaced limits, unless the order decides, as that of wildcards does.
 *
 * Every field of the rules is part of it, so a new field cannot be forgotten here. A field at its default is left out, so
 * that a later version, which knows more fields, has the same digest for the same rules. Settings are not part of it.
 */
export function ruleDigest({ domains }: RuleSet): string {
  const digest = new Digest();
  for (const domain of domains.toSorted((a, b) => compareTexts(a.name, b.name))) digest.add(domain);
  return digest.end();
}

/** The beginning of a digest, for people. */
export function shortDigest(digest: string): string {
  return digest.slice(0, SHORT_DIGITS);
}

/** Hashes values as JSON without spaces, with the fields of objects in the order of their names. */
class Digest {
  readonly #hash: Hash = createHash('sha256');
  readonly #orders = new FieldOrders();
  #text = '';

  /** Adds a part of the rules. */
  add(part: object): void {
    this.#text += '{';
    for (const { name, label } of this.#orders.of(part)) {
      const value = (part as Record<string, unknown>)[name];
      if (isDefault(name, value)) continue;
      this.#text += label;
      if (name === 'metadata') this.#write(JSON.stringify(value, withSortedNames));
      else if (name === 'entries') this.#addAll(inMatchingOrder(value as readonly RuleEntry[]));
      else if (name === 'replaces') this.#addAll([...new Set(value as readonly string[])].sort());
      else if (name === 'classes') this.add(inNameOrder(value as ClassRule));
      else if (Array.isArray(value)) this.#addAll(value);
      else if (typeof value === 'object') this.add(value as object);
      else if (typeof value === 'bigint') this.#text += `${value},`;
      else this.#text += JSON.stringify(value);
    }
    this.#write('},');
  }

  #addAll(parts: readonly (object | Scalar)[]): void {
    this.#write('[');
    for (const part of parts) {
      if (typeof part === 'object') this.add(part);
      else this.#write(`${JSON.stringify(part)},`);
    }
    this.#write(']');
  }

  /** The digest; nothing can be added afterwards. */
  end(): string {
    return this.#hash.update(this.#text).digest('hex');
  }

  #write(text: string): void {
    this.#text += text;
    if (this.#text.length < CHUNK_CHARACTERS) return;
    this.#hash.update(this.#text);
    this.#text = '';
  }
}

/** For `JSON.stringify`. In JSON of a rule file, a field with an empty value is not the same as no field. */
function withSortedNames(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => compareTexts(a, b)));
}

/** True for the value of a field that says nothing. */
function isDefault(name: string, value: unknown): boolean {
  if (name === 'scale' && value === 1) return true;
  if (name === 'quota') return isDefaultQuota(value as QuotaRule);
  if (value === null || value === undefined || value === false || value === '' || value === 0) return true;
  return Array.isArray(value) && value.length === 0;
}

/** Wildcards and conditions are tried in definition order; of all other entries, at most one has the text of a request. */
function inMatchingOrder(entries: readonly RuleEntry[]): readonly RuleEntry[] {
  const ordered = entries.filter(isOrdered);
  const others = ordered.length === 0 ? entries : entries.filter(entry => !isOrdered(entry));
  return [...others.toSorted((a, b) => compareTexts(a.composite, b.composite)), ...ordered];
}

function isOrdered(entry: RuleEntry): boolean {
  return entry.condition !== undefined || isWildcard(entry);
}

/** A request has one class, whatever the order of the classes is. */
function inNameOrder(classes: ClassRule): ClassRule {
  const pairs = classes.names.map((name, i) => [name, classes.shares[i]] as const);
  pairs.sort(([a], [b]) => compareTexts(a, b));
  return { ...classes, names: pairs.map(([name]) => name), shares: pairs.map(([, share]) => share) };
}

/** By code units, so that the order does not depend on the language of the machine. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A field of a kind of objects. */
interface Field {
  readonly name: string;
  /** The name as it is hashed. */
  readonly label: string;
}

/**
 * Sorts the fields of objects. Rules have few kinds of objects, and the order of each is remembered: sorting the names
 * takes as long as hashing the object.
 */
class FieldOrders {
  readonly #kinds: { readonly names: readonly string[]; readonly sorted: readonly Field[] }[] = [];

  of(part: object): readonly Field[] {
    const names = Object.keys(part);
    for (const kind of this.#kinds) if (isSame(kind.names, names)) return kind.sorted;
    const hashed = names.filter(name => !NOT_HASHED.has(name)).sort();
    const sorted = hashed.map(name => ({ name, label: `${JSON.stringify(name)}:` }));
    this.#kinds.push({ names, sorted });
    return sorted;
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
