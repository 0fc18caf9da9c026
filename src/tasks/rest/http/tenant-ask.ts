import type { Account } from '../../model/documents.ts';

/** The orders of a list of tenants: by domain; by creation, the newest first; or by a figure, the largest first. */
export const TENANT_SORTS = [
  'domain',
  'created',
  'open',
  'stored',
  'failed',
  'workers',
  'in_flight',
  'due',
  'oldest_due',
] as const;
export type TenantSort = (typeof TENANT_SORTS)[number];

export const TENANT_STATUSES = ['active', 'suspended', 'deleting', 'deleted'] as const;

/** Which tenants to list. The service has checked the values. */
export interface TenantListAsk {
  readonly kind: 'list';
  /** A part of the domain, in lower case; empty for all. */
  readonly q: string;
  /** Null for all. */
  readonly status: Account['status'] | null;
  readonly sort: TenantSort;
  readonly offset: number;
  readonly count: number;
}

/**
 * A question or a change of the operator's API about tenants. That API has authorized its caller and checked the values,
 * so it is never made from a request of the HTTP port.
 */
export type TenantAsk =
  | TenantListAsk
  | { readonly kind: 'read'; readonly domain: string }
  | { readonly kind: 'owner_token'; readonly domain: string }
  | {
      readonly kind: 'change';
      readonly domain: string;
      readonly status?: 'active' | 'suspended';
      /** As the schema of account changes accepts them. */
      readonly limits?: Readonly<Record<string, string | number | null>>;
      readonly reason: string;
    };
