import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { STATIC_NAMES, STATIC_VALUES } from '../../../../src/http2/hpack/static-table.ts';
import { decodedPlainly } from './plain-huffman.ts';
import { PlainTable } from './plain-table.ts';

/** The block breaks a rule. The fault does not say which one. */
export class PlainFault extends Error {}

function check(holds: boolean): void {
  if (!holds) throw new PlainFault();
}

/**
 * A second opinion on header blocks: RFC 7541 written down in the plainest way, with no regard to cost, nothing kept
 * from block to block but the table, and no code shared with the real decoder but the static table.
 */
export class PlainDecoder {
  readonly #table: PlainTable;
  readonly #limit: number;
  #octets: number[] = [];

  constructor(maxTableSize: number) {
    this.#table = new PlainTable(maxTableSize);
    this.#limit = maxTableSize;
  }

  decode(block: Uint8Array): HeaderField[] {
    this.#octets = [...block];
    const updates: number[] = [];
    while ((this.#octets[0] & 0xe0) === 0x20) {
      updates.push(this.#integer(5));
      check(updates.length <= 2 && (updates.at(-1) as number) <= this.#limit);
      this.#table.resize(updates.at(-1) as number);
    }
    const fields: HeaderField[] = [];
    while (this.#octets.length > 0) fields.push(this.#field());
    return fields;
  }

  #field(): HeaderField {
    const first = this.#octets[0];
    if (first >= 0x80) return this.#entry(this.#integer(7));
    check(first < 0x20 || first >= 0x40);
    const index = this.#integer(first >= 0x40 ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    const value = this.#string();
    if (first >= 0x40) this.#table.add(name, value);
    return [name, value];
  }

  #entry(index: number): HeaderField {
    check(index > 0 && index <= 61 + this.#table.entries.length);
    return index <= 61 ? [STATIC_NAMES[index], STATIC_VALUES[index]] : this.#table.entries[index - 62];
  }

  #octet(): number {
    check(this.#octets.length > 0);
    return this.#octets.shift() as number;
  }

  #integer(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1;
    let value = BigInt(this.#octet() & mask);
    if (value < mask) return Number(value);
    for (let count = 0n; ; count++) {
      check(count < 5n);
      const octet = this.#octet();
      value += BigInt(octet & 0x7f) << (7n * count);
      if (octet < 0x80) break;
    }
    check(value < 2n ** 32n);
    return Number(value);
  }

  #string(): string {
    check(this.#octets.length > 0);
    const coded = this.#octets[0] >= 0x80;
    const length = this.#integer(7);
    check(length <= this.#octets.length);
    const octets = this.#octets.splice(0, length);
    if (!coded) return String.fromCharCode(...octets);
    const text = decodedPlainly(octets);
    if (typeof text === 'number') throw new PlainFault();
    return text;
  }
}
