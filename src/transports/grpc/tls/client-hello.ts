const RECORD_HEAD_BYTES = 5;
const MESSAGE_HEAD_BYTES = 4;
/** Content type of records with handshake messages. */
const HANDSHAKE = 22;
/** Maximum size of the content of a record (RFC 8446, 5.2). */
const MAX_RECORD_BYTES = 16_640;

/**
 * Whether `bytes`, the first bytes of a client, contain its complete ClientHello (RFC 8446, 4 and 5.1), which may be
 * spread over several records. Also true for bytes that are not TLS: OpenSSL says what is wrong with them.
 */
export function isHelloComplete(bytes: Uint8Array): boolean {
  /** Bytes of the message in the records so far, and the size that its head announces. */
  let received = 0;
  let size = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return true;
    if (bytes.length - at < RECORD_HEAD_BYTES) return false;
    const length = (bytes[at + 3] << 8) | bytes[at + 4];
    if (length > MAX_RECORD_BYTES) return true;
    const start = at + RECORD_HEAD_BYTES;
    at = start + length;
    // A record is decrypted and handled as a whole.
    if (at > bytes.length) return false;
    for (let i = start; i < at && received + i - start < MESSAGE_HEAD_BYTES; i++) {
      const isType = received + i - start === 0;
      if (!isType) size = size * 256 + bytes[i];
    }
    received += length;
    if (received >= MESSAGE_HEAD_BYTES + size) return received >= MESSAGE_HEAD_BYTES;
  }
  return false;
}
