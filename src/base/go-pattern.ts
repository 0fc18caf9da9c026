/** The POSIX classes, which stand inside a class: `[[:alpha:]_]`. */
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

/** What both know, written in Go's way, and what stands for it here. */
const SAME_MEANING: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, '(?<'],
  [/\\A/g, '^'],
  [/\\z/g, '$'],
];

/** What only Go knows, or what only JavaScript knows and Go refuses. */
const OTHER_MEANING = /\\[CQEpPGZ]|\\[1-9]|\(\?<?[=!]|\[:\^?\w*:\]/;

/**
 * A regular expression of Go's syntax (RE2), which deployments of the reference implementation carry in settings and
 * mapper files. Not anchored. Flags are read at its beginning (`(?i)`).
 * @throws Error saying what is wrong with the pattern
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
