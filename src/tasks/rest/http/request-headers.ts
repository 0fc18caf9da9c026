import { invalidParameter, Problem } from '../checks/problem.ts';
import type { RestHead } from './http.ts';
import type { Call } from './route.ts';

/** The entity tag of a version, for the field `ETag`. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/** The versions that a request is meant for; null for any. */
export type MeantVersions = readonly number[] | null;

/** One member of a list of entity tags (RFC 9110, 8.8.3), which may be empty; and what ends it. */
const MEMBER = /[ \t]*(?:(W\/)?"([!#-~\x80-\uffff]*)")?[ \t]*(,|$)/y;
const VERSION = /^(?:0|[1-9]\d{0,14})$/;

/**
 * The versions that `If-Match` names; null when there is no such field, or any version will do (`*`). Tags that are weak
 * or none of ours match nothing (RFC 9110, 13.1.1).
 *
 * @throws Problem invalid_parameter when the field is neither a list of entity tags nor `*`
 */
export function meantVersions({ headers }: Pick<Call, 'headers'>): MeantVersions {
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
    'If-Match is a list of entity tags in quotes, such as the ETag "3" of an earlier answer, or *',
  );
}

/**
 * The version that is to be changed: the current one; null for any.
 *
 * @throws Problem version_mismatch when the request is meant for others
 */
export function expectedVersion(meant: MeantVersions, current: number): number | null {
  if (meant === null) return null;
  if (!meant.includes(current)) throw versionMismatch();
  return current;
}

/** What to throw when the version is another one. */
export function versionMismatch(): Problem {
  return new Problem(
    'version_mismatch',
    'it has changed since the version that If-Match names: read it again, and repeat the change on what it is now',
  );
}

/** @throws Problem not_acceptable when the caller takes no JSON */
export function requireJsonAccepted(request: RestHead): void {
  const accept = request.headers['accept'];
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return;
  if (accept.trim() === '' || accept.split(',').some(acceptsJson)) return;
  throw new Problem('not_acceptable', 'answers are JSON: Accept has to take application/json');
}

const JSON_RANGES = new Set(['*/*', 'application/*', 'application/json']);

function acceptsJson(range: string): boolean {
  const [type, ...parameters] = range.toLowerCase().split(';');
  if (!JSON_RANGES.has(type.trim())) return false;
  return !parameters.some(parameter => /^\s*q=0(\.0*)?\s*$/.test(parameter));
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The request's own id where it is well formed, else a new one. */
export function requestIdOf(request: RestHead, next: () => string): string {
  const given = request.headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : next();
}
