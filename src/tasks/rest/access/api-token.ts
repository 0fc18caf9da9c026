import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ApiToken, Scope } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import type { PutDocument } from '../../store/documents.ts';
import type { RestParts } from '../http/parts.ts';

const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 256 bits in base 62. */
const SECRET_LENGTH = 43;
/** 32 bits in base 62. */
const CHECKSUM_LENGTH = 6;
/** `wkt_`, a domain of 40 characters, secret and checksum, with `_` between them. */
const MAX_LENGTH = 95;
const PATTERN = /^(?:tk|wkt)_([a-z0-9-]{1,40})_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;

/**
 * What a token begins with: `tk` for those of users, `wkt` for those of pull workers. Prefix and checksum are there for
 * scanners that look for leaked tokens.
 */
type TokenPrefix = 'tk' | 'wkt';

/**
 * A new token: `<prefix>_<domain>_<43 characters, 256 random bits>_<checksum>` (specification 3.12). It is shown once;
 * only its {@link tokenHash} is kept.
 */
export function newToken(
  prefix: TokenPrefix,
  domain: string,
  randomBytes: (count: number) => Buffer,
): string {
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const checked = `${prefix}_${domain}_${secret}`;
  return `${checked}_${checksum(checked)}`;
}

/**
 * The name under which a token is looked up: SHA-256, hex. A plain hash will do, because nobody can guess 256 random
 * bits.
 */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * The domain in the text of a token, which may be forged; null if it has not the form of a token. Tokens of earlier
 * versions contain only the first 8 characters of a domain.
 */
export function tokenDomain(text: string): string | null {
  return text.length > MAX_LENGTH ? null : (PATTERN.exec(text)?.[1] ?? null);
}

/** True when a text has the form of a token and its checksum: what is mistyped costs no look-up. */
export function isTokenText(text: string): boolean {
  if (text.length > MAX_LENGTH || !PATTERN.test(text)) return false;
  const end = text.length - CHECKSUM_LENGTH;
  return checksum(text.slice(0, end - 1)) === text.slice(end);
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE_62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let digits = '';
  for (let place = 0; place < length; place++) {
    digits = BASE_62[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return digits;
}

interface TokenRequest {
  readonly tenant: string;
  readonly userId: string;
  readonly name: string;
  /** Null: all that the role of the user allows. */
  readonly scopes: readonly Scope[] | null;
  readonly expiresAt: number;
  readonly createdBy: Actor;
  readonly atMost: number;
  readonly nowMs: number;
}

/** A token that is about to be made: its text, which is kept nowhere, and its document. */
interface MadeToken {
  readonly text: string;
  readonly change: PutDocument<'token'>;
}

export function makeToken(parts: Pick<RestParts, 'ids' | 'randomBytes'>, request: TokenRequest): MadeToken {
  const text = newToken('tk', request.tenant, parts.randomBytes);
  const body: ApiToken = {
    userId: request.userId,
    name: request.name,
    scopes: request.scopes,
    expiresAt: request.expiresAt,
    lastUsedAt: null,
    createdAt: request.nowMs,
    createdBy: request.createdBy,
  };
  const change: PutDocument<'token'> = {
    op: 'put',
    kind: 'token',
    id: parts.ids.next('token'),
    expect: 'absent',
    parent: request.userId,
    dueAt: null,
    unique: [`hash:${tokenHash(text)}`],
    body,
    atMost: request.atMost,
  };
  return { text, change };
}
