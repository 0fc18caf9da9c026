import type { Tag } from './tags.ts';

/**
 * Makes a name and tags out of a name that is a path: `ratelimit.service.rate_limit.shop.user.over_limit` with the
 * pattern `rate_limit\.(\w+)\.(.+)\.(\w+)$` becomes `limits.$3` with the tag `rule:$2`.
 */
export interface Mogrifier {
  /** Found anywhere in the name. */
  readonly pattern: RegExp;
  /** A template: `$1` is what the first group of the pattern matched, `$0` the whole match. */
  readonly name: string;
  /** The values are templates too. */
  readonly tags: readonly Tag[];
}

/** What the first mogrifier whose pattern is found makes of a name; null when there is none. */
export function mogrified(
  mogrifiers: readonly Mogrifier[],
  name: string,
): { readonly name: string; readonly tags: readonly Tag[] } | null {
  for (const mogrifier of mogrifiers) {
    const match = mogrifier.pattern.exec(name);
    if (match === null) continue;
    return {
      name: filled(mogrifier.name, match),
      tags: mogrifier.tags.map(([tag, template]) => [tag, filled(template, match)] as const),
    };
  }
  return null;
}

/** A number beyond the groups stays as it is written; a group that took no part is empty. */
function filled(template: string, match: RegExpExecArray): string {
  return template.replace(/\$(\d+)/g, (written, digits: string) =>
    Number(digits) < match.length ? (match[Number(digits)] ?? '') : written,
  );
}
