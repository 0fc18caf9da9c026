/** The maximum number of digits of `Content-Length`. More digits could not be represented exactly as a number. */
const MAX_LENGTH_DIGITS = 15;

const LENGTH = /^\d+$/;

/** Spaces, and characters that begin or end another part of a URL (RFC 3986, 3.2.2). */
const NO_HOST = /[\s/@?#\\,]/;

/** A list of connection options that contains `close` (RFC 9110, 7.6.1). */
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/**
 * Determines from the header fields of a request where the request ends and whether the connection stays open. A
 * request that can be read in two ways is rejected: a proxy in front of Sluice may have read it the other way, and the
 * bytes that follow would be taken for a separate request (request smuggling).
 *
 * One object serves all requests of a server: call {@link begin}, then {@link field} for each field, then read the
 * results.
 */
export class Framing {
  /** The values of `Connection`, joined; empty if the field is missing. */
  connection = '';
  /** Length of the first value of `Connection`. */
  firstConnectionLength = 0;
  /** The request has an `Expect` field, normally `100-continue` (RFC 9110, 10.1.1). */
  expects = false;
  /** The request announces trailer fields. */
  announcesTrailers = false;
  #hosts = 0;
  #host = '';
  /** The last host that was checked. Nearly all requests have the same host. */
  #checkedHost = '';
  #lengths = 0;
  #length = '';
  #codings = 0;
  #coding = '';

  begin(): void {
    this.connection = '';
    this.firstConnectionLength = 0;
    this.expects = false;
    this.announcesTrailers = false;
    this.#hosts = 0;
    this.#lengths = 0;
    this.#codings = 0;
  }

  /** Adds a field; `name` in lower case. Fields that are irrelevant to framing cost only a comparison of lengths. */
  readonly field = (name: string, value: string): void => {
    switch (name.length) {
      case 4:
        if (name === 'host') {
          this.#hosts++;
          this.#host = value;
        }
        break;
      case 6:
        if (name === 'expect') this.expects = true;
        break;
      case 7:
        if (name === 'trailer') this.announcesTrailers = true;
        break;
      case 10:
        if (name === 'connection') this.#connection(value);
        break;
      case 14:
        if (name === 'content-length') {
          this.#lengths++;
          this.#length = value;
        }
        break;
      case 17:
        if (name === 'transfer-encoding') {
          this.#codings++;
          this.#coding = value;
        }
        break;
    }
  };

  /**
   * Describes what is wrong and how to fix it; null if the request can be read in only one way (RFC 9112, 3.2, 6.1,
   * 6.3).
   */
  get fault(): string | null {
    if (this.#hosts > 1) return 'the Host header field is repeated; send it once';
    if (this.#hosts === 1 && !this.#hasHost()) return 'the Host header field is not a host name or address';
    if (this.#codings > 0) {
      if (this.#lengths > 0)
        return 'the request has both Content-Length and Transfer-Encoding; send one of them';
      if (this.#codings > 1 || this.#coding.toLowerCase() !== 'chunked')
        return 'the only accepted Transfer-Encoding is chunked, sent once';
    }
    if (this.#lengths > 1) return 'the Content-Length header field is repeated; send it once';
    if (this.#lengths === 1 && !this.#hasLength())
      return 'the Content-Length header field is not a number of bytes';
    return null;
  }

  /** Length of the body; null if the request does not state it. */
  get bodyBytes(): number | null {
    if (this.chunked) return null;
    return this.#lengths === 0 ? 0 : Number(this.#length);
  }

  get chunked(): boolean {
    return this.#codings > 0;
  }

  /** The caller asks for the connection to be closed after the answer. */
  get closes(): boolean {
    const { connection } = this;
    return connection !== '' && connection !== 'keep-alive' && CLOSE.test(connection);
  }

  #connection(value: string): void {
    if (this.connection === '') {
      this.firstConnectionLength = value.length;
      this.connection = value;
    } else this.connection += `,${value}`;
  }

  #hasHost(): boolean {
    if (this.#host === this.#checkedHost) return true;
    if (NO_HOST.test(this.#host)) return false;
    this.#checkedHost = this.#host;
    return true;
  }

  #hasLength(): boolean {
    return this.#length.length <= MAX_LENGTH_DIGITS && LENGTH.test(this.#length);
  }
}
