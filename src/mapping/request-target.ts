import { decodedParameter, decodedPath } from './percent-encoding.ts';

/** The longest target that is read. What follows is cut off. Heads of requests are shorter by default. */
const MAX_TARGET = 65_536;

const SLASH = 0x2f;
const DOT = 0x2e;
const PERCENT = 0x25;
const PLUS = 0x2b;
const LAST_ASCII = 0x7f;

/** Begins a fragment, which is no part of a request. A client can send one all the same, and web servers drop it. */
const FRAGMENT = '#';

/** The scheme and the host of a target in absolute form (RFC 9112, 3.2.2). */
const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path and the query of a request. One object reads one target after the other.
 *
 * A path has one spelling: percent-encoding is decoded, slashes in a row are one, and dots are resolved (RFC 3986, 6.2.2).
 * Otherwise, clients could avoid a limit by writing the same path in another way.
 */
export class RequestTarget {
  /** Begins with a slash; empty if nobody has said what it is. */
  path = '';
  #query = '';

  clear(): void {
    this.path = '';
    this.#query = '';
  }

  /** Reads a target: `/a/b?c=d`, or one in absolute form. */
  read(target: string): void {
    const cut = target.length > MAX_TARGET ? target.slice(0, MAX_TARGET) : target;
    const text = cut.charCodeAt(0) === SLASH ? cut : cut.replace(SCHEME_AND_HOST, '');
    const mark = text.indexOf('?');
    if (mark < 0) this.readParts(text, '');
    else this.readParts(text.slice(0, mark), text.slice(mark + 1));
  }

  /** @param path before normalization */
  readParts(path: string, query: string): void {
    const written = beforeFragment(path);
    this.#query = written === path ? beforeFragment(query) : '';
    this.path = isNormal(written) ? written : normalized(written);
  }

  /** A segment of the path, from 1; empty if there is none. */
  segment(number: number): string {
    const { path } = this;
    let start = 1;
    for (let before = 1; before < number; before++) {
      start = path.indexOf('/', start) + 1;
      if (start === 0) return '';
    }
    const end = path.indexOf('/', start);
    return end < 0 ? path.slice(start) : path.slice(start, end);
  }

  /** The value of the first parameter with a name; empty if there is none. */
  parameter(name: string): string {
    const query = this.#query;
    for (let start = 0; start < query.length; ) {
      let end = query.indexOf('&', start);
      if (end < 0) end = query.length;
      const equals = query.indexOf('=', start);
      const nameEnd = equals < 0 || equals > end ? end : equals;
      if (isNamed(query, start, nameEnd, name))
        return nameEnd === end ? '' : decodedParameter(query.slice(nameEnd + 1, end));
      start = end + 1;
    }
    return '';
  }
}

function beforeFragment(text: string): string {
  const end = text.indexOf(FRAGMENT);
  return end < 0 ? text : text.slice(0, end);
}

/** Whether `query[start, end)` is a name, also if it is encoded. */
function isNamed(query: string, start: number, end: number, name: string): boolean {
  // Nothing is shorter when it is encoded.
  if (end - start < name.length) return false;
  if (end - start === name.length && query.startsWith(name, start)) return true;
  for (let i = start; i < end; i++) {
    const code = query.charCodeAt(i);
    if (code === PERCENT || code === PLUS) return decodedParameter(query.slice(start, end)) === name;
  }
  return false;
}

/** Whether a path is in its normal form: ASCII without percent-encoding, slashes in a row and segments that begin with a dot. */
function isNormal(path: string): boolean {
  let before = 0;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code === PERCENT || code > LAST_ASCII) return false;
    if (before === SLASH && (code === SLASH || code === DOT)) return false;
    before = code;
  }
  return path.charCodeAt(0) === SLASH;
}

function normalized(path: string): string {
  const segments: string[] = [];
  const written = decodedPath(path).split('/');
  for (const segment of written) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  // `/a/` and `/a` can be different pages.
  const last = written[written.length - 1];
  const isFolder = last === '' || last === '.' || last === '..';
  return segments.length > 0 && isFolder ? `/${segments.join('/')}/` : `/${segments.join('/')}`;
}
