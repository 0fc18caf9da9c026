import { ByteWriter } from '../../../../src/base/bytes.ts';

/** Octets in rows, so that a table can have a note beside each field. */
export function octets(...rows: readonly (readonly number[])[]): Uint8Array {
  return Uint8Array.from(rows.flat());
}

/** What `write` appends, as a plain array of octets. */
export function written(write: (to: ByteWriter) => void): Uint8Array {
  const to = new ByteWriter(0);
  write(to);
  return to.take();
}

/** Octets that stand before a payload in a read buffer; reading must not look at them. */
export const BEFORE = [0xee, 0xee, 0xee];

/** A payload as it stands in a read buffer, between octets that are not its own. */
export function placed(payload: Uint8Array): { bytes: Uint8Array; range: { start: number; end: number } } {
  const bytes = octets(BEFORE, [...payload], [0xee, 0xee]);
  return { bytes, range: { start: BEFORE.length, end: BEFORE.length + payload.length } };
}
