const QUOTE = '"';
const BACKSLASH = '\\';

/** `for` as a parameter of an element: names of parameters have no case (RFC 7239, 4). */
const FOR = /(?:^|;)[ \t]*for[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^";,\s]*)/i;

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

function nodeOf(element: string): string {
  const node = FOR.exec(element)?.[1] ?? '';
  return node.startsWith(QUOTE) ? node.slice(1, -1).replaceAll(/\\(.)/g, '$1') : node;
}
