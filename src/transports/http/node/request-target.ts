/** What a request asks for (RFC 9112, 3.2). */
export interface RequestTarget {
  /** `*` when the server itself is asked for. */
  readonly path: string;
  readonly query: string;
  /** The host of a target in absolute form; null for the other forms. */
  readonly host: string | null;
}

/** RFC 9112, 3.2.2. What stands before an `@` would be the name of a user, which is not allowed there (RFC 9110, 4.2.4). */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i;

/** Reads a target in origin form, in absolute form, or `*`; null when it is none of them. */
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
