/** The longest `Content-Length` that is read: more digits would not be exact as a number. */
const MAX_LENGTH_DIGITS = 15;

const LENGTH = /^\d+$/;

/** Spaces, and what would end or begin another part of a URL (RFC 3986, 3.2.2). */
const NO_HOST = /[\s/@?#\\,]/;

/** A list of connection options with `close` among them (RFC 9110, 7.6.1). */
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/**
 * What the header fields of a request say about where it ends and what comes after it. A request that can be read in two
 * ways is a fault: a proxy in front may have read it in the other one, and would take what follows for a request of its
 * own (request smuggling).
 *
 * One object serves all requests of a server: {@link begin}, then {@link field} for each field, then the results.
 */
export class Framing {
  /** The values of `Connection`, joined; empty when there are none. */
  connection = '';
  /** The length of the first value of `Connection`. */
  firstConnectionLength = 0;
  /** The caller sends the body when it is told to (RFC 9110, 10.1.1), or expects something else. */
  expects = false;
  /** The request announces fields behind its body. */
  announcesTrailers = false;
  #hosts = 0;
  #host = '';
  /** The last one that was checked: nearly all requests have the same. */
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

  /** The next field. `name` in lower case. Fields that have nothing to do with framing cost a comparison of lengths. */
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

  /** What is wrong and what to do instead; null when the request can be read in one way only (RFC 9112, 3.2, 6.1, 6.3). */
  get fault(): string | null {
    if (this.#hosts > 1) return 'the Host header field is repeated; send it once';
    if (this.#hosts === 1 && !this.#hasHost()) return 'the Host header field is no host name or address';
    if (this.#codings > 0) {
      if (this.#lengths > 0)
        return 'the request has both Content-Length and Transfer-Encoding; send one of them';
      if (this.#codings > 1 || this.#coding.toLowerCase() !== 'chunked')
        return 'the only Transfer-Encoding that is accepted is chunked, once';
    }
    if (this.#lengths > 1) return 'the Content-Length header field is repeated; send it once';
    if (this.#lengths === 1 && !this.#hasLength())
      return 'the Content-Length header field is no number of bytes';
    return null;
  }

  /** The bytes that the body has; null when they are not told in advance. */
  get bodyBytes(): number | null {
    if (this.chunked) return null;
    return this.#lengths === 0 ? 0 : Number(this.#length);
  }

  get chunked(): boolean {
    return this.#codings > 0;
  }

  /** The caller wants the connection to end with the answer. */
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
