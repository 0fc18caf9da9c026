import { unverifiedClaim } from '../../identity/json-web-token.ts';
import { Problem } from '../checks/problem.ts';
import type { RestHead } from '../http/http.ts';
import type { RestConfig } from '../http/parts.ts';
import { tokenDomain } from './api-token.ts';
import { bearerToken } from './authentication.ts';

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
  /** `{serviceHost}/accounts` */
  | { readonly kind: 'service' }
  | { readonly kind: 'unknown' };

const ACCOUNTS: Place = { kind: 'accounts' };
const SERVICE: Place = { kind: 'service' };
const UNKNOWN: Place = { kind: 'unknown' };

/** Where accounts are managed on the host of the service. */
export const ACCOUNTS_PATH = '/accounts';

interface PlaceConfig extends Pick<RestConfig, 'serviceHost' | 'tenantHeader'> {
  readonly jwt: Pick<RestConfig['jwt'], 'tenantClaim'>;
}

/**
 * The host names the tenant, or `X-Tenant-Domain` if the operator has enabled it. If neither names one, as with an IP
 * address, the token does. The token has not been checked here, so it proves no more than the host does.
 */
export function placeOf(
  { host, path, headers }: Pick<RestHead, 'host' | 'path' | 'headers'>,
  config: PlaceConfig,
): Place {
  const { serviceHost } = config;
  const named = config.tenantHeader ? headers['x-tenant-domain'] : undefined;
  if (named !== undefined) return tenantPlace(named.toLowerCase());
  if (host === serviceHost) return isAccountsPath(path) ? SERVICE : tokenPlace(headers.authorization, config);
  const label = host.length - serviceHost.length - 1;
  const isBelow = label >= 0 && host[label] === '.' && host.endsWith(serviceHost);
  if (!isBelow) return tokenPlace(headers.authorization, config);
  const domain = host.slice(0, label);
  return domain === 'accounts' ? ACCOUNTS : tenantPlace(domain);
}

function isAccountsPath(path: string): boolean {
  return path === ACCOUNTS_PATH || path.startsWith(`${ACCOUNTS_PATH}/`);
}

function tokenPlace(authorization: string | undefined, { jwt }: PlaceConfig): Place {
  const token = bearerToken(authorization);
  if (token === null) return UNKNOWN;
  const domain =
    tokenDomain(token) ?? (jwt.tenantClaim === '' ? null : unverifiedClaim(token, jwt.tenantClaim));
  return domain === null ? UNKNOWN : tenantPlace(domain);
}

function tenantPlace(domain: string): Place {
  return isDomainText(domain) ? { kind: 'tenant', tenant: domain } : UNKNOWN;
}

/** The answer to a request for a tenant that does not exist, or for none. */
export function unknownTenant({
  serviceHost,
  tenantHeader,
}: Pick<RestConfig, 'serviceHost' | 'tenantHeader'>): Problem {
  const header = tenantHeader ? 'the header X-Tenant-Domain, ' : '';
  return new Problem(
    'tenant_not_found',
    `the request names no existing tenant: use the host {domain}.${serviceHost}, ${header}or a valid token of the ` +
      `tenant at a host that names no tenant (${serviceHost}, an IP address)`,
  );
}

/** The address of a tenant: `https://acme.tasks.example`, with the port where it is not the usual one. */
export function tenantOrigin(config: RestConfig, domain: string): string {
  const port = config.publicPort === 0 ? '' : `:${config.publicPort}`;
  return `${config.scheme}://${domain}.${config.serviceHost}${port}`;
}
