import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import { PROBLEMS, type ProblemCode } from './problem-list.ts';

interface ProblemExtras {
  readonly errors?: readonly ProblemPart[];
  /** Further members of the response, in snake case. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error for the caller. It becomes an `application/problem+json` response. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  /** @param detail what is wrong, where, and what is accepted; never contains a secret or a payload */
  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/**
 * A problem about one field or parameter.
 *
 * @param partCode the code of the entry in `errors`, if it differs from that of the problem
 */
export function problemAt(
  where: { readonly pointer: string } | { readonly parameter: string },
  code: ProblemCode,
  detail: string,
  partCode: string = code,
): Problem {
  return new Problem(code, detail, { errors: [{ ...where, code: partCode, detail }] });
}

/** A problem that passes: the response says after how many seconds the request can be repeated. */
export function retryLater(code: ProblemCode, detail: string, seconds = 1): Problem {
  return new Problem(code, detail, { headers: { 'Retry-After': String(seconds) } });
}

/** The response to an invalid query parameter or header field. */
export function invalidParameter(parameter: string, detail: string): Problem {
  return problemAt({ parameter }, 'invalid_parameter', detail);
}
