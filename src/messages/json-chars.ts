/** The bytes that mean something in a JSON document (RFC 8259, section 2). */
export const CHAR = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  upperE: 0x45,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  lowerA: 0x61,
  lowerE: 0x65,
  lowerF: 0x66,
  lowerU: 0x75,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** Whether a byte is white space between the parts of a document. */
export function isSpace(byte: number): boolean {
  return byte === CHAR.space || byte === CHAR.lineFeed || byte === CHAR.carriageReturn || byte === CHAR.tab;
}

/** Whether a byte can be part of a number: digits, signs, the point, the letter before an exponent. */
export function isNumberPart(byte: number): boolean {
  return (
    (byte >= CHAR.zero && byte <= CHAR.nine) ||
    byte === CHAR.point ||
    byte === CHAR.minus ||
    byte === CHAR.plus ||
    byte === CHAR.lowerE ||
    byte === CHAR.upperE
  );
}
