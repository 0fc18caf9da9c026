/**
 * The value of the first cookie with a name (RFC 6265, 4.2.1), without quotes; empty if there is none. Browsers send the
 * cookie of the most precise path first.
 */
export function cookieOf(header: string, name: string): string {
  for (let start = 0; start < header.length; ) {
    let end = header.indexOf(';', start);
    if (end < 0) end = header.length;
    while (start < end && header.charCodeAt(start) === SPACE) start++;
    if (header.startsWith(name, start) && header.charCodeAt(start + name.length) === EQUALS)
      return unquoted(header.slice(start + name.length + 1, end).trimEnd());
    start = end + 1;
  }
  return '';
}

const SPACE = 0x20;
const EQUALS = 0x3d;

function unquoted(value: string): string {
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return isQuoted ? value.slice(1, -1) : value;
}
