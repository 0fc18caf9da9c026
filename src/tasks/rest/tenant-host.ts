import type { RestConfig } from './parts.ts';

/** What a domain looks like; the form of specification 3.1. */
const DOMAIN = /^[a-z](?:[a-z0-9]|-(?!-)){1,38}[a-z0-9]$/;

/** True for what an account could have as its domain, reserved words included. */
export function isDomainText(text: string): boolean {
  return DOMAIN.test(text);
}

/** The part of the service that a request is for. */
export type Place =
  | { readonly kind: 'tenant'; readonly tenant: string }
  /** `accounts.{serviceHost}` */
  | { readonly kind: 'accounts' }
  /** `{serviceHost}` */
  | { readonly kind: 'service' }
  | { readonly kind: 'unknown' };

const ACCOUNTS: Place = { kind: 'accounts' };
const SERVICE: Place = { kind: 'service' };
const UNKNOWN: Place = { kind: 'unknown' };

/** Whom the host names; or `X-Tenant-Domain`, where the operator has enabled it. */
export function placeOf(
  host: string,
  tenantHeader: string | undefined,
  config: Pick<RestConfig, 'serviceHost' | 'tenantHeader'>,
): Place {
  const { serviceHost } = config;
  if (config.tenantHeader && tenantHeader !== undefined) return tenantPlace(tenantHeader.toLowerCase());
  if (host === serviceHost) return SERVICE;
  const label = host.length - serviceHost.length - 1;
  if (label < 1 || host[label] !== '.' || !host.endsWith(serviceHost)) return UNKNOWN;
  const domain = host.slice(0, label);
  return domain === 'accounts' ? ACCOUNTS : tenantPlace(domain);
}

function tenantPlace(domain: string): Place {
  return isDomainText(domain) ? { kind: 'tenant', tenant: domain } : UNKNOWN;
}

/** The address of a tenant: `https://acme.tasks.example`, with the port where it is not the usual one. */
export function tenantOrigin(config: RestConfig, domain: string): string {
  const port = config.publicPort === 0 ? '' : `:${config.publicPort}`;
  return `${config.scheme}://${domain}.${config.serviceHost}${port}`;
}
