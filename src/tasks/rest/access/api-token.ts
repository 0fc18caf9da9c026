import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ApiToken, Scope } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import type { PutDocument } from '../../store/documents.ts';
import { putNew, tokenName } from '../../store/put-document.ts';
import type { RestParts } from '../http/parts.ts';

const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 256 bits in base 62. */
const SECRET_LENGTH = 43;
/** 32 bits in base 62. */
const CHECKSUM_LENGTH = 6;
/** `wkt_`, a domain of 40 characters, secret and checksum, separated by `_`. */
const MAX_LENGTH = 95;
const PATTERN = /^(?:tk|wkt)_([a-z0-9-]{1,40})_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;

/**
 * The prefix of a token: `tk` for users, `wkt` for pull workers. Prefix and checksum help scanners that look for leaked
 * tokens.
 */
type TokenPrefix = 'tk' | 'wkt';

/**
 * Creates a token: `<prefix>_<domain>_<43 characters, 256 random bits>_<checksum>` (specification 3.12). Only its
 * {@link tokenHash} is stored.
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
 * The key under which a token is stored: SHA-256 in hexadecimal. A plain hash is sufficient, because 256 random bits
 * cannot be guessed.
 */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * The domain in a token that has not been verified; null if the text does not have the form of a token. Tokens of
 * earlier versions contain only the first 8 characters of a domain.
 */
export function tokenDomain(text: string): string | null {
  return text.length > MAX_LENGTH ? null : (PATTERN.exec(text)?.[1] ?? null);
}

/** Whether a text has the form and the checksum of a token. Mistyped tokens are rejected without a lookup. */
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
  /** Null for everything that the role of the user allows. */
  readonly scopes: readonly Scope[] | null;
  readonly expiresAt: number;
  readonly createdBy: Actor;
  readonly atMost: number;
  readonly nowMs: number;
}

/** A new token: its text, which is not stored, and the change that stores its document. */
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
  const unique = [tokenName(tokenHash(text))];
  const { atMost } = request;
  return { text, change: putNew('token', parts.ids.next('token'), body, { unique, atMost }) };
}
