/** Protobuf bytes put together by hand, without the code that is examined. */

/** A varint of as many bytes as needed, or of `atLeast`, which encoders may but do not do. */
export function varint(value: number | bigint, atLeast = 1): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 127n));
    rest >>= 7n;
  } while (rest > 0n);
  while (bytes.length < atLeast) bytes.push(0);
  return Buffer.from(bytes.map((byte, i) => (i === bytes.length - 1 ? byte : byte | 128)));
}

/** A field of wire type 0. */
export function number(field: number, value: number | bigint, atLeast = 1): Buffer {
  return Buffer.concat([varint(field * 8), varint(value, atLeast)]);
}

/** A field of wire type 2: a text, bytes, or a message of the given fields. */
export function message(field: number, ...content: readonly (Uint8Array | string)[]): Buffer {
  const bytes = Buffer.concat(content.map(part => Buffer.from(part as Uint8Array)));
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

/** A field of wire type 1 or 5: eight or four bytes. */
export function fixed(field: number, bytes: 4 | 8): Buffer {
  return Buffer.concat([varint(field * 8 + (bytes === 8 ? 1 : 5)), Buffer.alloc(bytes, 0xa5)]);
}
