import type { Account } from '../model/documents.ts';

/** What a sealed value belongs to. It opens for nothing else. */
export interface SealedFor {
  readonly tenant: string;
  readonly workerId: string;
  readonly secretId: string;
  readonly type: string;
}

/**
 * Seals secrets: AES-256-GCM under a data key of the tenant, which is itself wrapped by the master key (specification
 * 3.5.4). Values never appear in errors or logs.
 */
export interface Sealer {
  /** A new data key, wrapped, for an account that has none. */
  newDataKey(tenant: string): NonNullable<Account['dataKey']>;
  /** Whether what is sealed under this master key can be opened. */
  knows(masterKeyId: string): boolean;
  /** @returns base64 */
  seal(value: string, dataKey: NonNullable<Account['dataKey']>, belongsTo: SealedFor): string;
  /** @throws Error when it was sealed for something else, was changed, or the master key is another */
  open(sealed: string, dataKey: NonNullable<Account['dataKey']>, belongsTo: SealedFor): string;
  /** The same for equal values, and says nothing about them: 12 hex digits of a keyed hash. */
  fingerprint(value: string, dataKey: NonNullable<Account['dataKey']>, tenant: string): string;
}
