/** The target of a request (RFC 9112, 3.2). */
export interface RequestTarget {
  /** `*` if the request concerns the server itself. */
  readonly path: string;
  readonly query: string;
  /** The host of a target in absolute form; null for other forms. */
  readonly host: string | null;
}

/** RFC 9112, 3.2.2. Text before an `@` would be user information, which is not allowed here (RFC 9110, 4.2.4). */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i;

/** Parses a target in origin form, in absolute form, or `*`. Returns null for any other target. */
export function readTarget(target: string): RequestTarget | null {
  if (target.startsWith('/')) return split(target, null);
  if (target === '*') return { path: '*', query: '', host: null };
  const absolute = ABSOLUTE.exec(target);
  if (absolute === null) return null;
  const [, host, rest] = absolute;
  return split(rest.startsWith('/') ? rest : `/${rest}`, host);
}

function split(target: string, host: string | null): RequestTarget {
  const mark = target.indexOf('?');
  if (mark === -1) return { path: target, query: '', host };
  return { path: target.slice(0, mark), query: target.slice(mark + 1), host };
}
