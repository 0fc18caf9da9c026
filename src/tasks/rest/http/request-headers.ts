import { readTraceContext, type TraceContext } from '../../../base/trace-context.ts';
import { invalidParameter, Problem } from '../checks/problem.ts';
import type { RestHead } from './http.ts';
import type { Call } from './route.ts';

/** The value of the header field `ETag` for a version. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/** The versions that `If-Match` allows; null for any version. */
export type ExpectedVersions = readonly number[] | null;

/** A member of a list of entity tags (RFC 9110, section 8.8.3), which may be empty, and the separator after it. */
const MEMBER = /[ \t]*(?:(W\/)?"([!#-~\x80-\uffff]*)")?[ \t]*(,|$)/y;
const VERSION = /^(?:0|[1-9]\d{0,14})$/;

/**
 * Reads the versions in `If-Match`; null if the field is missing or is `*`. Weak tags and tags of other services do not
 * match any version (RFC 9110, section 13.1.1).
 *
 * @throws Problem `invalid_parameter` if the field is neither a list of entity tags nor `*`
 */
export function expectedVersions({ headers }: Pick<Call, 'headers'>): ExpectedVersions {
  const text = headers['if-match'];
  if (text === undefined || text === '*') return null;
  const versions: number[] = [];
  let tags = 0;
  MEMBER.lastIndex = 0;
  for (let end = ','; end === ','; ) {
    const match = MEMBER.exec(text);
    if (match === null) throw noTags();
    const [, weak, tag] = match;
    if (tag !== undefined) tags++;
    if (weak === undefined && tag !== undefined && VERSION.test(tag)) versions.push(Number(tag));
    end = match[3];
  }
  if (tags === 0) throw noTags();
  return versions;
}

function noTags(): Problem {
  return invalidParameter(
    'If-Match',
    'If-Match must be a list of entity tags in quotes, such as the ETag "3" of an earlier response, or *',
  );
}

/**
 * Checks that the request allows the current version, and returns it; null if the request allows any version.
 *
 * @throws Problem `version_mismatch`
 */
export function expectedVersion(meant: ExpectedVersions, current: number): number | null {
  if (meant === null) return null;
  if (!meant.includes(current)) throw versionMismatch();
  return current;
}

/** The response if the current version differs from the expected one. */
export function versionMismatch(): Problem {
  return new Problem(
    'version_mismatch',
    'The resource has changed since the version that If-Match names. Read it again, and repeat the change.',
  );
}

/** @throws Problem `not_acceptable` if `Accept` does not allow JSON */
export function requireJsonAccepted(request: RestHead): void {
  const accept = request.headers['accept'];
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return;
  if (accept.trim() === '' || accept.split(',').some(acceptsJson)) return;
  throw new Problem('not_acceptable', 'Responses are JSON. The Accept header must allow application/json.');
}

const JSON_RANGES = new Set(['*/*', 'application/*', 'application/json']);

function acceptsJson(range: string): boolean {
  const [type, ...parameters] = range.toLowerCase().split(';');
  if (!JSON_RANGES.has(type.trim())) return false;
  return !parameters.some(parameter => /^\s*q=0(\.0*)?\s*$/.test(parameter));
}

/**
 * The trace context of the call: with tracing enabled the one of its span, otherwise the one that the caller sent. Null for
 * none.
 */
export function traceOfCall({ headers }: Pick<Call, 'headers'>): TraceContext | null {
  return readTraceContext(headers['traceparent'] ?? '', headers['tracestate'] ?? '');
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The `X-Request-Id` of the request if it is well-formed, otherwise a new id. */
export function requestIdOf(request: RestHead, next: () => string): string {
  const given = request.headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : next();
}
