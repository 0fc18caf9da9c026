import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { recentlyUsed } from '../../base/collections/recently-used.ts';
import type { Account } from '../model/documents.ts';
import type { MasterKey } from './master-key.ts';

/** The owner of a sealed value, which can be opened for this owner only. */
export interface SealedFor {
  readonly tenant: string;
  readonly workerId: string;
  readonly secretId: string;
  readonly type: string;
}

type DataKey = NonNullable<Account['dataKey']>;

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** The nonce that GCM is made for. It is random: a tenant seals far fewer than 2^32 values. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte of everything sealed, so that another cipher can follow. */
const FORMAT = 1;
/** Tenants whose unwrapped keys are at hand. */
const MAX_UNWRAPPED = 1_000;

/** The master key that seals, and previous ones that can still open. */
export interface MasterKeys {
  readonly current: MasterKey;
  readonly older: readonly MasterKey[];
}

/** Keys that are derived from a data key, one for each use. */
interface TenantKeys {
  readonly sealing: KeyObject;
  readonly fingerprints: KeyObject;
}

/**
 * Seals secrets with AES-256-GCM under a data key of the tenant, which is itself wrapped by the master key (specification
 * 3.5.4). A sealed value is a format byte, the nonce, the tag and the ciphertext. Values never appear in errors or logs.
 */
export class Sealer {
  readonly #current: MasterKey;
  readonly #masters: ReadonlyMap<string, MasterKey>;
  readonly #unwrapped = recentlyUsed<string, TenantKeys>(MAX_UNWRAPPED);

  constructor({ current, older }: MasterKeys) {
    this.#current = current;
    this.#masters = new Map([...older, current].map(key => [key.id, key]));
  }

  /** A new data key, wrapped, for an account that has none. */
  newDataKey(tenant: string): DataKey {
    return this.#wrap(tenant, randomBytes(KEY_BYTES));
  }

  /** The id of the master key that wraps new data keys. */
  get currentKeyId(): string {
    return this.#current.id;
  }

  /** The ids of all master keys, the current one last. */
  get keyIds(): readonly string[] {
    return [...this.#masters.keys()];
  }

  /** Whether values sealed under this master key can be opened. */
  knows(masterKeyId: string): boolean {
    return this.#masters.has(masterKeyId);
  }

  /** @returns base64 */
  seal(value: string, dataKey: DataKey, belongsTo: SealedFor): string {
    const { sealing } = this.#keys(belongsTo.tenant, dataKey);
    return encrypt(sealing, Buffer.from(value, 'utf8'), secretContext(belongsTo)).toString('base64');
  }

  /** @throws Error if the value was sealed for something else, was changed, or needs another master key */
  open(sealed: string, dataKey: DataKey, belongsTo: SealedFor): string {
    const { sealing } = this.#keys(belongsTo.tenant, dataKey);
    const opened = decrypt(sealing, Buffer.from(sealed, 'base64'), secretContext(belongsTo));
    if (opened !== null) return opened.toString('utf8');
    throw new Error(
      `secret ${belongsTo.secretId} of tenant ${belongsTo.tenant} cannot be decrypted: it was encrypted for another use or was modified`,
    );
  }

  /** 12 hex digits of a keyed hash: the same for equal values of a tenant, and no help in finding the value. */
  fingerprint(value: string, dataKey: DataKey, tenant: string): string {
    const { fingerprints } = this.#keys(tenant, dataKey);
    return createHmac('sha256', fingerprints).update(value, 'utf8').digest('hex').slice(0, 12);
  }

  #wrap(tenant: string, dataKey: Buffer): DataKey {
    const { id, key } = this.#current;
    return { masterKeyId: id, wrapped: encrypt(key, dataKey, wrapContext(tenant, id)).toString('base64') };
  }

  #unwrap(tenant: string, { masterKeyId, wrapped }: DataKey): Buffer {
    const master = this.#masters.get(masterKeyId);
    if (master === undefined) {
      throw new Error(
        `the data key of tenant ${tenant} is wrapped with master key ${masterKeyId}, which is not configured: add it to the previous master keys`,
      );
    }
    const key = decrypt(master.key, Buffer.from(wrapped, 'base64'), wrapContext(tenant, masterKeyId));
    if (key?.length === KEY_BYTES) return key;
    throw new Error(
      `the data key of tenant ${tenant} cannot be decrypted: it belongs to another tenant or was modified`,
    );
  }

  #keys(tenant: string, dataKey: DataKey): TenantKeys {
    const name = context(tenant, dataKey.masterKeyId, dataKey.wrapped);
    const known = this.#unwrapped.get(name);
    if (known !== undefined) return known;
    const key = this.#unwrap(tenant, dataKey);
    const keys = { sealing: derived(key, 'seal'), fingerprints: derived(key, 'fingerprint') };
    this.#unwrapped.set(name, keys);
    return keys;
  }
}

function secretContext({ tenant, workerId, secretId, type }: SealedFor): string {
  return context('secret', tenant, workerId, secretId, type);
}

function wrapContext(tenant: string, masterKeyId: string): string {
  return context('data key', tenant, masterKeyId);
}

/** A text that no other list of parts has. */
function context(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

function derived(key: Buffer, use: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `sluice ${use}`, KEY_BYTES)));
}

function encrypt(key: KeyObject, plain: Buffer, belongsTo: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(belongsTo, 'utf8'));
  const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), encrypted]);
}

/** Null when it was encrypted with another key, for something else, or was changed. */
function decrypt(key: KeyObject, sealed: Buffer, belongsTo: string): Buffer | null {
  const tagAt = 1 + NONCE_BYTES;
  const contentAt = tagAt + TAG_BYTES;
  if (sealed.length < contentAt || sealed[0] !== FORMAT) return null;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(1, tagAt), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(belongsTo, 'utf8'));
  decipher.setAuthTag(sealed.subarray(tagAt, contentAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(contentAt)), decipher.final()]);
  } catch {
    return null;
  }
}
