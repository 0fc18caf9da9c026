import { createHash } from 'node:crypto';
import { USAGE_SPANS } from '../model/usage.ts';
import type { Copy } from '../store/copies.ts';

const KINDS = ['document', 'task', 'usage', 'answer'] as const satisfies readonly Copy['kind'][];

/**
 * How many copies there are of a tenant, and a hash of them. It does not depend on their order, in which stores may differ,
 * nor on how a store represents a value that is missing.
 */
export class TenantDigest {
  readonly #counts: Record<Copy['kind'], number> = { document: 0, task: 0, usage: 0, answer: 0 };
  readonly #sums: Record<Copy['kind'], bigint> = { document: 0n, task: 0n, usage: 0n, answer: 0n };
  #entries = 0;

  /** @param untilMs what the store forgets by then does not count, because the other one may have forgotten it already */
  add(copy: Copy, untilMs: number): void {
    const lasting = lastingPart(copy, untilMs);
    if (lasting === null) return;
    this.#counts[copy.kind]++;
    this.#sums[copy.kind] += hashOf(canonicalText(lasting));
    if (copy.kind === 'task') this.#entries += copy.history.length;
  }

  count(kind: Copy['kind']): number {
    return this.#counts[kind];
  }

  get isEmpty(): boolean {
    return KINDS.every(kind => this.#counts[kind] === 0);
  }

  /** Number of history entries of the tasks. */
  get entries(): number {
    return this.#entries;
  }

  get hash(): string {
    const hash = createHash('sha256');
    for (const kind of KINDS) hash.update(`${kind} ${this.#counts[kind]} ${this.#sum(kind)}\n`);
    return hash.digest('hex').slice(0, 32);
  }

  /** The kinds of copies that differ. */
  differences(other: TenantDigest): readonly Copy['kind'][] {
    return KINDS.filter(
      kind => this.#counts[kind] !== other.#counts[kind] || this.#sum(kind) !== other.#sum(kind),
    );
  }

  #sum(kind: Copy['kind']): bigint {
    return BigInt.asUintN(128, this.#sums[kind]);
  }
}

/** Null for a copy that a store forgets by then; a key that becomes free by then counts as free. */
function lastingPart(copy: Copy, untilMs: number): Copy | null {
  switch (copy.kind) {
    case 'document':
      return copy;
    case 'task': {
      const freeAt = copy.holdsKey?.freeAt ?? null;
      return freeAt === null || freeAt > untilMs ? copy : { ...copy, holdsKey: null };
    }
    case 'usage': {
      const { ms, keepMs } = USAGE_SPANS[copy.span];
      return copy.at + ms + keepMs > untilMs ? copy : null;
    }
    case 'answer':
      return copy.until > untilMs ? copy : null;
  }
}

function hashOf(text: string): bigint {
  const digest = createHash('sha256').update(text).digest();
  return (digest.readBigUInt64LE(0) << 64n) | digest.readBigUInt64LE(8);
}

/** JSON with the fields in the order of their names, without fields that are null: older versions left out some of them. */
function canonicalText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '{';
  for (const name of Object.keys(fields).sort()) {
    const field = fields[name];
    if (field !== null && field !== undefined) text += `${name}:${canonicalText(field)},`;
  }
  return `${text}}`;
}
