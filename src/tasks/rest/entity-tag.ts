import { invalidParameter } from './page.ts';
import { Problem } from './problem.ts';
import type { Call } from './route.ts';

/** The entity tag of a version, for the field `ETag`. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/**
 * The version that `If-Match` asks for; null when there is no such field, or any version will do (`*`).
 *
 * @throws Problem invalid_parameter when the field is not one strong entity tag
 */
export function expectedVersion(call: Pick<Call, 'headers'>): number | null {
  const text = call.headers['if-match'];
  if (text === undefined || text === '*') return null;
  const match = /^"(\d{1,15})"$/.exec(text);
  if (match === null) {
    throw invalidParameter('If-Match', 'If-Match is the ETag of an earlier answer, such as "3", or *');
  }
  return Number(match[1]);
}

/** What to throw when the version is another one. */
export function versionMismatch(): Problem {
  return new Problem(
    'version_mismatch',
    'it has changed since the version that If-Match names: read it again, and repeat the change on what it is now',
  );
}
