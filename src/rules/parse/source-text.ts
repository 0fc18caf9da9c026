import { isUtf8 } from 'node:buffer';

/** A line and a column, both from 1; both 0 where there are no lines. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What is checked, as far as faults need to know it. */
export interface Source {
  /** The name of the file or resource. */
  readonly file: string;
  readonly noun: 'file' | 'resource';
  /** Where an offset of the tree lies. */
  placeOf(offset: number): Place;
}

/** The text of a rule file, and where in it an offset lies. */
export class SourceText implements Source {
  readonly file: string;
  readonly noun = 'file';
  readonly text: string;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }

  /** Line and column of an offset, both from 1. Counted anew each time: only faults ask for them. */
  placeOf(offset: number): Place {
    let line = 1;
    let lineStart = 0;
    for (
      let end = this.text.indexOf('\n');
      end !== -1 && end < offset;
      end = this.text.indexOf('\n', lineStart)
    ) {
      line++;
      lineStart = end + 1;
    }
    return { line, column: offset - lineStart + 1 };
  }
}

const BYTE_ORDER_MARK = 0xfeff;

/** Decodes UTF-8, less a byte order mark. Null when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? decoded(bytes) : null;
}

/** For bytes that are not UTF-8: the text before the first bad one, and that byte's number from 0. */
export function beforeBadByte(bytes: Uint8Array): { readonly text: string; readonly badByte: number } {
  const badByte = firstBadByte(bytes);
  return { text: decoded(bytes.subarray(0, badByte)), badByte };
}

function decoded(bytes: Uint8Array): string {
  // Unlike TextDecoder, Buffer makes one-byte strings of ASCII, which are twice as fast to scan.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

function firstBadByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at];
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > 1 && !isUtf8(bytes.subarray(at, at + length))) return at;
    at += length;
  }
  return at;
}
