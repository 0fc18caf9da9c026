import { WordList } from '../base/collections/word-list.ts';
import { FNV_START, fnvOver, scramble } from '../base/hash.ts';
import { DOMAIN, EDGE_WORDS, ENTRY, edgeHash, LINE_WORDS } from './layout.ts';

/** A section with records of some limits, in the order of the limits. A record begins with the number of its limit. */
export class LimitRecords {
  readonly words = new WordList();

  /** Adds a record with the same fields for each of `count` limits, the first of which has the number `first`. */
  add(first: number, count: number, fields: readonly number[]): void {
    for (let limit = first; limit < first + count; limit++) {
      const at = this.words.allocate(1 + fields.length);
      this.words.words[at] = limit;
      fields.forEach((field, i) => {
        this.words.words[at + 1 + i] = field;
      });
    }
  }
}

/** Size of an open addressing table that is at most half full with `count` members: a power of two. */
function tableSize(count: number): number {
  let size = 4;
  while (size < count * 2) size *= 2;
  return size;
}

/** Rounds up to whole cache lines, in words. */
export function wholeLines(words: number): number {
  return Math.ceil(words / LINE_WORDS) * LINE_WORDS;
}

/** An entry, or a value set, with the level and hash that find it. */
export interface Edge {
  readonly level: number;
  readonly hash: number;
  readonly entry: number;
  /** For a value of a list: its place in the pool + 1. */
  readonly value?: number;
}

/** The open addressing table of all edges. */
export function edgeTable(edges: readonly Edge[]): Int32Array {
  const table = new Int32Array(tableSize(edges.length) * EDGE_WORDS);
  const mask = table.length / EDGE_WORDS - 1;
  for (const edge of edges) {
    let at = edgeHash(edge.level, edge.hash) & mask;
    while (table[at * EDGE_WORDS] !== 0) at = (at + 1) & mask;
    fillSlot(table, at * EDGE_WORDS, edge);
  }
  return table;
}

/** The slot with this level and hash, or the free slot where it belongs. */
function findSlot(table: Int32Array, edge: Edge): number {
  const mask = table.length / EDGE_WORDS - 1;
  let at = edgeHash(edge.level, edge.hash) & mask;
  for (; ; at = (at + 1) & mask) {
    const slot = at * EDGE_WORDS;
    if (table[slot] === 0) return slot;
    if (table[slot] === edge.level + 1 && table[slot + 1] === edge.hash) return slot;
  }
}

function fillSlot(table: Int32Array, slot: number, edge: Edge): void {
  table[slot] = edge.level + 1;
  table[slot + 1] = edge.hash;
  table[slot + 2] = edge.entry + 1;
  table[slot + 3] = edge.value ?? 0;
}

/**
 * The open addressing table of all wildcards. Chains those of equal hash in definition order: each is put in front, starting
 * with the last one.
 *
 * @param entries the records of all entries
 */
export function wildcardTable(wildcards: readonly Edge[], entries: Int32Array): Int32Array {
  const table = new Int32Array(tableSize(wildcards.length) * EDGE_WORDS);
  for (let i = wildcards.length - 1; i >= 0; i--) {
    const edge = wildcards[i];
    const slot = findSlot(table, edge);
    entries[edge.entry * ENTRY.words + ENTRY.nextWildcard] = table[slot + 2];
    fillSlot(table, slot, edge);
  }
  return table;
}

/** The open addressing table of all domains. @param pool has their names */
export function domainTable(domains: WordList, pool: Uint8Array): Int32Array {
  const count = domains.length / DOMAIN.words;
  const table = new Int32Array(tableSize(count));
  const mask = table.length - 1;
  for (let domain = 0; domain < count; domain++) {
    const record = domain * DOMAIN.words;
    const start = domains.words[record + DOMAIN.name];
    const end = start + domains.words[record + DOMAIN.nameLength];
    let at = scramble(fnvOver(FNV_START, pool, start, end)) & mask;
    while (table[at] !== 0) at = (at + 1) & mask;
    table[at] = domain + 1;
  }
  return table;
}
