const QUOTE = '"';
const BACKSLASH = '\\';

/** The parameter with the node. Names of parameters have no case (RFC 7239, 4). */
const FOR = 'for';

/**
 * The node that an element of a `Forwarded` header names with `for`, counted from the end of the list; the first element if
 * there are fewer. Empty if the element names none.
 *
 * The list is read from its end. A client could otherwise begin a quotation that takes up what trusted proxies add.
 */
export function forwardedFor(list: string, number: number): string {
  let end = list.length;
  for (let left = number; ; left--) {
    const start = elementStart(list, end);
    if (left === 1 || start === 0) return nodeOf(list.slice(start, end));
    end = start - 1;
  }
}

/** Where the element that ends at `end` starts: after the comma before it that is not in quotes, or 0. */
function elementStart(list: string, end: number): number {
  let isQuoted = false;
  for (let at = end - 1; at >= 0; at--) {
    const character = list[at];
    if (character === QUOTE && !isEscaped(list, at)) isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) return at + 1;
  }
  return 0;
}

/** Whether an odd number of backslashes stands before a character. */
function isEscaped(list: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && list[before] === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

/** Reads one parameter after the other: the value of another one can be a text that looks like `for`. */
function nodeOf(element: string): string {
  for (let start = 0; start < element.length; ) {
    const end = parameterEnd(element, start);
    const parameter = element.slice(start, end);
    const equals = parameter.indexOf('=');
    if (equals > 0 && parameter.slice(0, equals).trim().toLowerCase() === FOR)
      return unquoted(parameter.slice(equals + 1).trim());
    start = end + 1;
  }
  return '';
}

/** Where the parameter that begins at `start` ends: at the next semicolon that is not in quotes, or with the element. */
function parameterEnd(element: string, start: number): number {
  let isQuoted = false;
  for (let at = start; at < element.length; at++) {
    const character = element[at];
    if (character === QUOTE) isQuoted = !isQuoted;
    else if (character === BACKSLASH && isQuoted) at++;
    else if (character === ';' && !isQuoted) return at;
  }
  return element.length;
}

function unquoted(node: string): string {
  const isQuoted = node.length > 1 && node.startsWith(QUOTE) && node.endsWith(QUOTE);
  return isQuoted ? node.slice(1, -1).replaceAll(/\\(.)/g, '$1') : node;
}
