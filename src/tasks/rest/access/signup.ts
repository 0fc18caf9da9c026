import { createHash, timingSafeEqual } from 'node:crypto';
import type { RestRequest } from '../http/http.ts';
import type { RestConfig } from '../http/parts.ts';
import { bearerToken, invalidToken, tokenRequired } from './authentication.ts';

/**
 * Whether somebody may make an account: the operator always; callers on this machine, or all, where the operator says
 * so. A request that a proxy has forwarded has no address here. A proxy that adds no field to its requests cannot be
 * told from a caller on this machine: `loopback` is for trying things out.
 *
 * @throws Problem authentication_required or invalid_token
 */
export function requireSignup(
  request: RestRequest,
  config: Pick<RestConfig, 'signup' | 'operatorToken'>,
): void {
  if (config.signup === 'open') return;
  if (config.signup === 'loopback' && isLoopback(request.remoteAddress)) return;
  requireOperator(request, config);
}

/**
 * Only the operator may do this, however accounts can be created.
 *
 * @throws Problem authentication_required or invalid_token
 */
export function requireOperator(request: RestRequest, config: Pick<RestConfig, 'operatorToken'>): void {
  const token = bearerToken(request.headers['authorization']);
  if (token === null) throw tokenRequired();
  if (config.operatorToken === '' || !isEqual(token, config.operatorToken)) throw invalidToken();
}

/** In a time that does not tell where they differ. */
function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `::1`, `127.0.0.0/8` and its form in IPv6, in the texts that sockets have. */
export function isLoopback(address: string): boolean {
  if (address === '::1' || address === '0000:0000:0000:0000:0000:0000:0000:0001') return true;
  const v4 = address.replace(/^(?:::|0000:0000:0000:0000:0000:)ffff:/i, '');
  return /^127(?:\.\d{1,3}){3}$/.test(v4) || /^7f[0-9a-f]{2}:[0-9a-f]{1,4}$/i.test(v4);
}
