import { Problem } from '../checks/problem.ts';
import type { RestHead } from './http.ts';

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
