import { decodedSegment } from './percent-encoding.ts';

const TAB = 0x09;
const SPACE = 0x20;
const EQUALS = 0x3d;

/**
 * The value of the first cookie with a name (RFC 6265, 4.2.1), without quotes; empty if there is none. Browsers send the
 * cookie of the most precise path first.
 *
 * A cookie has one spelling: many programs ignore spaces around names and values, and decode percent-encoding. Otherwise,
 * clients could avoid a limit by writing the same cookie in another way.
 */
export function cookieOf(header: string, name: string): string {
  for (let start = 0; start < header.length; ) {
    let end = header.indexOf(';', start);
    if (end < 0) end = header.length;
    const nameStart = afterSpace(header, start);
    if (header.startsWith(name, nameStart)) {
      const equals = afterSpace(header, nameStart + name.length);
      if (header.charCodeAt(equals) === EQUALS)
        return decodedSegment(unquoted(header.slice(equals + 1, end).trim()));
    }
    start = end + 1;
  }
  return '';
}

/** The place of the first character from `start` on that is no space. */
function afterSpace(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code === SPACE || code === TAB; code = text.charCodeAt(at)) at++;
  return at;
}

function unquoted(value: string): string {
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return isQuoted ? value.slice(1, -1) : value;
}
