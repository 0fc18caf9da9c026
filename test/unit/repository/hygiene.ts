/** What must not stand in a file of the repository. */
interface Banned {
  readonly what: string;
  readonly pattern: RegExp;
  /** Which files are looked at; without it: all. */
  readonly files?: RegExp;
}

// The patterns are written so that they do not match themselves.
const BANNED: readonly Banned[] = [
  {
    what: 'a path of somebody’s machine',
    pattern: /(?<![\w.~-])\/(?:work|home|root|Users)\/[\w.-]+|\b[A-Z]:\\Users\\/,
  },
  {
    what: 'the host of a package registry',
    pattern:
      /\bregistry\.[\w-]+\.\w+|\b(?:npm\.pkg|deb\.debian|security\.debian|proxy\.golang)\.\w+|"resolved": "https?:/,
  },
  {
    what: 'a to-do mark',
    pattern: /(?:\/\/|\/\*|\*|#|<!--)\s*(?:TODO|FIXME|XXX|HACK)\b|\b(?:TODO|FIXME|XXX|HACK)(?::|\()/,
  },
  {
    what: 'a test that keeps all others from running',
    pattern: /\.only\(|\bonly: true\b/,
    files: /^test\/.*\.ts$/,
  },
  {
    what: 'a skipped test without a reason',
    pattern: /\b(?:skip|todo): true\b|\bt\.(?:skip|todo)\(\s*\)/,
    files: /^test\/.*\.ts$/,
  },
];

/** One sentence, with file and line, for each thing in `text` that must not be there. */
export function hygieneFaults(path: string, text: string): string[] {
  const rules = BANNED.filter(({ files }) => files === undefined || files.test(path));
  return text
    .split('\n')
    .flatMap((line, index) =>
      rules
        .filter(({ pattern }) => pattern.test(line))
        .map(({ what }) => `${path}:${index + 1} holds ${what}: ${line.trim().slice(0, 120)}`),
    );
}
