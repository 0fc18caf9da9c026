/** A faulty field or parameter of a request to an API. */
export interface ProblemPart {
  /** A JSON pointer into the body, such as `/retry/max_attempts`. */
  readonly pointer?: string;
  /** Or the name of a query parameter or header field. */
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
}

/** Maximum number of characters of a name in a pointer; the caller may have made it up. */
const MAX_NAME_LENGTH = 64;

/** One step of a JSON pointer (RFC 6901), shortened if it is long. */
export function pointerPart(name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  return short.replaceAll('~', '~0').replaceAll('/', '~1');
}
