/**
 * The headers that say what a proxy was asked, before it asked Sluice. Their numbers are their slots. Of a repeated one, the
 * last counts: it is the one that the proxy next to Sluice has added.
 */
export const CALL_SLOTS = {
  'x-forwarded-method': 0,
  'x-original-method': 1,
  'x-forwarded-uri': 2,
  'x-original-uri': 3,
  'x-forwarded-host': 4,
  host: 5,
  'sluice-refusal-status': 6,
} as const;

const CALL_SLOT_COUNT = Object.keys(CALL_SLOTS).length;

const COOKIE = 'cookie';

/** The values of the headers that a mapping needs. One object is filled for one request after the other. */
export class HeaderSlots {
  /** By slot; empty for a header that the request does not have. */
  readonly values: string[] = [];
  readonly #slots = new Map<string, number>(Object.entries(CALL_SLOTS));
  /** Bit n is set if a header has a name of n characters, or of n + 32 and so on. Most headers are none of them. */
  #lengths = 0;

  /** @param names in lower case */
  constructor(names: Iterable<string>) {
    for (const name of names) if (!this.#slots.has(name)) this.#slots.set(name, this.#slots.size);
    for (const name of this.#slots.keys()) {
      this.#lengths |= 1 << (name.length & 31);
      this.values.push('');
    }
  }

  /** The slot of a header; undefined if it is none of the names. */
  slotOf(name: string): number | undefined {
    return this.#slots.get(name);
  }

  clear(): void {
    const { values } = this;
    for (let slot = 0; slot < values.length; slot++) values[slot] = '';
  }

  /** Takes a header of the request; `name` in lower case. The values of a repeated header are joined (RFC 9110, 5.3). */
  readonly take = (name: string, value: string): void => {
    if (((this.#lengths >>> (name.length & 31)) & 1) === 0) return;
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const before = this.values[slot];
    if (before === '' || slot < CALL_SLOT_COUNT) this.values[slot] = value;
    else this.values[slot] = `${before}${name === COOKIE ? '; ' : ','}${value}`;
  };
}
