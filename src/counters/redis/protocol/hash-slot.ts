/** Hash slots of a cluster: CRC-16 (XMODEM) of a key, or of the part between its first `{` and the next `}`. */
export const HASH_SLOTS = 16_384;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc & 0xffff;
});

const OPEN = 123;
const CLOSE = 125;

/** The hash slot of the key `bytes[start, end)`. */
export function hashSlot(bytes: Uint8Array, start: number, end: number): number {
  const open = indexOf(bytes, OPEN, start, end);
  if (open >= 0) {
    const close = indexOf(bytes, CLOSE, open + 1, end);
    if (close > open + 1) return crc16(bytes, open + 1, close);
  }
  return crc16(bytes, start, end);
}

function crc16(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let i = start; i < end; i++) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ bytes[i]];
  return crc & (HASH_SLOTS - 1);
}

function indexOf(bytes: Uint8Array, byte: number, start: number, end: number): number {
  for (let i = start; i < end; i++) if (bytes[i] === byte) return i;
  return -1;
}
