/** The POSIX classes, which are written inside a character class: `[[:alpha:]_]`. */
const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  blank: '\\t ',
  digit: '0-9',
  lower: 'a-z',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

/** Syntax of Go that JavaScript writes differently, and its replacement. */
const SAME_MEANING: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, '(?<'],
  [/\\A/g, '^'],
  [/\\z/g, '$'],
];

/** Syntax that only Go has, or that only JavaScript has and Go rejects. */
const OTHER_MEANING = /\\[CQEpPGZ]|\\[1-9]|\(\?<?[=!]|\[:\^?\w*:\]/;

/**
 * Converts a regular expression in Go's syntax (RE2), which settings and mapper files written for envoyproxy/ratelimit
 * contain. The expression is not anchored. Flags at its beginning (`(?i)`) are supported.
 *
 * @throws Error that says what is wrong with the pattern
 */
export function goPattern(pattern: string): RegExp {
  const [, flags = '', rest] = /^(?:\(\?([ims]+)\))?(.*)$/s.exec(pattern) as RegExpExecArray;
  let source = rest.replace(/\[:(\w+):\]/g, (whole, name: string) => POSIX_CLASSES[name] ?? whole);
  for (const [theirs, ours] of SAME_MEANING) source = source.replace(theirs, ours);
  const other = OTHER_MEANING.exec(source);
  if (other !== null) throw new Error(`"${other[0]}" is not supported in a pattern`);
  try {
    return new RegExp(source, [...new Set(flags)].join(''));
  } catch (refused) {
    throw new Error((refused as Error).message.replace(/^Invalid regular expression: /, ''), {
      cause: refused,
    });
  }
}
