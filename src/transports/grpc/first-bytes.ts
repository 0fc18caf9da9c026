import { PREFACE } from '../../http2/connection/partial-input.ts';

/** The protocol of a peer, according to its first bytes. `undecided`: more bytes are needed. */
export type Protocol = 'http2' | 'http1' | 'other' | 'undecided';

/** Bytes of the preface that identify HTTP/2: no method of HTTP/1.1 starts with them (RFC 9113, 3.4). */
const DECISIVE_BYTES = 'PRI '.length;

/**
 * Maximum number of bytes to wait for the end of a request line. They are kept and not counted as held memory. A longer
 * line is accepted if it arrives in one piece.
 */
const MAX_LINE_BYTES = 1_024;

const LINE_FEED = 0x0a;

/** Method, target, version. */
const REQUEST_LINE = /^[A-Za-z-]+ \S+ HTTP\/1\.[01]\r?$/;

/** Returns the protocol of a peer whose first bytes are `bytes`. */
export function protocolOf(bytes: Uint8Array): Protocol {
  const seen = Math.min(bytes.length, DECISIVE_BYTES);
  let same = 0;
  while (same < seen && bytes[same] === PREFACE[same]) same++;
  if (same === DECISIVE_BYTES) return 'http2';
  if (same === bytes.length) return 'undecided';
  if (!isLetter(bytes[0])) return 'other';
  const lineEnd = bytes.indexOf(LINE_FEED);
  if (lineEnd < 0) return bytes.length < MAX_LINE_BYTES ? 'undecided' : 'other';
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, lineEnd).toString('latin1');
  return REQUEST_LINE.test(line) ? 'http1' : 'other';
}

/** The answer to callers that do not use HTTP/2. They read text, not frames. */
export function http1Answer(text: string): string {
  return [
    'HTTP/1.1 505 HTTP Version Not Supported',
    'content-type: text/plain; charset=utf-8',
    'connection: close',
    '',
    `${text} For HTTP/1.1 use the HTTP port: POST /json.`,
    '',
  ].join('\r\n');
}

function isLetter(octet: number): boolean {
  const lower = octet | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

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
