import { gzipSync } from 'node:zlib';

/** The body of an answer with such a document, as text or compressed. */
interface DocumentBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly text?: string;
  readonly encoded?: Uint8Array;
}

/**
 * A JSON document that does not change, is long, and is read seldom. It is kept compressed only, from the first time that
 * somebody asks for it.
 */
export class GzippedJson {
  readonly #make: () => object;
  #gzipped: Uint8Array | null = null;

  constructor(make: () => object) {
    this.#make = make;
  }

  /** @param acceptEncoding the value of `Accept-Encoding`; empty for none */
  bodyFor(acceptEncoding: string): DocumentBody {
    const headers = { Vary: 'Accept-Encoding' };
    if (!acceptsGzip(acceptEncoding)) return { headers, text: JSON.stringify(this.#make()) };
    this.#gzipped ??= new Uint8Array(gzipSync(JSON.stringify(this.#make())));
    // A copy, because the memory of an answer is transferred to the thread that sends it.
    return { headers: { ...headers, 'Content-Encoding': 'gzip' }, encoded: this.#gzipped.slice() };
  }
}

/**
 * Whether a caller takes bodies that are compressed with gzip (RFC 9110, 12.5.3). The first of several fields decides, which
 * is all that browsers send.
 */
export function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .some(coding => /^(?:gzip|\*)(?:\s*;|$)/.test(coding) && !/;\s*q=0(?:\.0*)?$/.test(coding));
}
