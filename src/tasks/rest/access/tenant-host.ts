import { unverifiedClaim } from '../../identity/json-web-token.ts';
import { Problem } from '../checks/problem.ts';
import type { RestHead } from '../http/http.ts';
import type { RestConfig } from '../http/parts.ts';
import { tokenDomain } from './api-token.ts';
import { bearerToken } from './authentication.ts';

/** The form of a domain (specification 3.1). */
const DOMAIN = /^[a-z](?:[a-z0-9]|-(?!-)){1,38}[a-z0-9]$/;

/** Whether a text has the form of a domain. Reserved domains have it, too. */
export function isDomainText(text: string): boolean {
  return DOMAIN.test(text);
}

/** The part of the service that a request is for. */
type Place =
  | { readonly kind: 'tenant'; readonly tenant: string }
  /** `accounts.{serviceHost}` */
  | { readonly kind: 'accounts' }
  /** `{serviceHost}/accounts` */
  | { readonly kind: 'service' }
  | { readonly kind: 'unknown' };

const ACCOUNTS: Place = { kind: 'accounts' };
const SERVICE: Place = { kind: 'service' };
const UNKNOWN: Place = { kind: 'unknown' };

/** The path of the accounts on the host of the service. */
export const ACCOUNTS_PATH = '/accounts';

interface PlaceConfig extends Pick<RestConfig, 'serviceHost' | 'tenantHeader'> {
  readonly jwt: Pick<RestConfig['jwt'], 'tenantClaim'>;
}

/**
 * Finds the tenant of a request: from the host, from `X-Tenant-Domain` if the operator has enabled it, or from the token
 * if neither names a tenant, as with an IP address. The token has not been verified here, so it proves no more than the
 * host does.
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

/** The response to a request that does not name an existing tenant. */
export function unknownTenant({
  serviceHost,
  tenantHeader,
}: Pick<RestConfig, 'serviceHost' | 'tenantHeader'>): Problem {
  const header = tenantHeader ? 'the header X-Tenant-Domain, ' : '';
  return new Problem(
    'tenant_not_found',
    `The request does not name an existing tenant. Use the host {domain}.${serviceHost}, ${header}or a valid token of the ` +
      `tenant at a host that does not name a tenant (${serviceHost}, an IP address).`,
  );
}

/** The origin of a tenant, such as `https://acme.tasks.example`; with the port unless it is the default one. */
export function tenantOrigin(config: RestConfig, domain: string): string {
  const port = config.publicPort === 0 ? '' : `:${config.publicPort}`;
  return `${config.scheme}://${domain}.${config.serviceHost}${port}`;
}
