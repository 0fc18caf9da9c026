import { BlockList, isIP } from 'node:net';

/**
 * IPv4 addresses that are not those of somebody else's server on the internet (the special-purpose registry of IANA,
 * RFC 6890, and multicast).
 */
const SPECIAL_V4 = [
  '0.0.0.0/8', // this host on this network, unspecified
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared between a provider and its customers
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, where clouds keep their metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

/**
 * The IPv6 addresses that are given out. Everything else is special: loopback, unspecified, unique-local, link-local,
 * multicast, and the forms that hold an IPv4 address (mapped, compatible, NAT64), which could be any.
 */
const GIVEN_OUT_V6 = '2000::/3';
/** Special ranges among them. */
const SPECIAL_V6 = [
  '2001::/23', // protocol assignments, Teredo and benchmarks among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which holds an IPv4 address
  '3fff::/20', // documentation
  '3ffe::/16', // the former 6bone
];

const specialV4 = blockList(SPECIAL_V4);
const givenOutV6 = blockList([GIVEN_OUT_V6]);
const specialV6 = blockList(SPECIAL_V6);

/** Says which addresses tasks are pushed to (specification 3.5.2). */
export class SafeAddresses {
  readonly #allowed: BlockList;

  /**
   * @param allowed networks in CIDR form that are fine although they are special, for tests and intranets; one
   *   of IPv4 allows the mapped form (`::ffff:10.0.0.1`) as well, which leads to the same place
   * @throws Error for one that cannot be read
   */
  constructor(allowed: readonly string[]) {
    this.#allowed = blockList(allowed);
  }

  /** Whether this address, as a number, may be connected to. */
  allow(address: string): boolean {
    const family = isIP(address);
    // With a zone (`fe80::1%eth0`) it is link-local whatever it looks like.
    if (family === 0 || address.includes('%')) return false;
    if (family === 4) return this.#allowed.check(address, 'ipv4') || !specialV4.check(address, 'ipv4');
    if (this.#allowed.check(address, 'ipv6')) return true;
    return givenOutV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6');
  }
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits, ...rest] = network.split('/');
    const family = isIP(address);
    const prefix = /^\d{1,3}$/.test(bits ?? '') ? Number(bits) : Number.NaN;
    if (family === 0 || rest.length > 0 || !(prefix <= (family === 4 ? 32 : 128))) {
      throw new Error(
        `${JSON.stringify(network)} is not a network in CIDR notation such as 10.0.0.0/8 or fd00::/8`,
      );
    }
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

export const MAX_URL_LENGTH = 2_048;
/** Below it ports are those of the system's own services: mail, name service, remote login. */
const FIRST_FREE_PORT = 1_024;
const WEB_PORTS = [80, 443];

/** URLs that the operator allows pushes to. */
export interface UrlRules {
  readonly addresses: SafeAddresses;
  /** Without it only `https:`. */
  readonly allowHttp: boolean;
  /** Ports below 1024, beside 80 and 443. */
  readonly ports: readonly number[];
}

/** The target of a push. */
export interface Target {
  /** `https://host:port`, the port only where it is not the usual one. */
  readonly origin: string;
  /** A name in lower case, or an address without brackets. */
  readonly host: string;
  /** Path and query, as they are sent. */
  readonly path: string;
}

type UrlCheck =
  | { readonly kind: 'ok'; readonly target: Target }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid_url' | 'forbidden_address';
      /** The problem and the accepted form, for the caller that gave the URL. */
      readonly detail: string;
    };

/**
 * Whether tasks may be pushed to this URL. A host name is not resolved here: its addresses are checked before each
 * attempt.
 */
export function checkWorkerUrl(text: string, rules: UrlRules): UrlCheck {
  if (text.length > MAX_URL_LENGTH)
    return invalid(`it has ${text.length} characters, and may have ${MAX_URL_LENGTH}`);
  // The parser ignores tabs, line breaks and surrounding spaces, so the request would not use the URL as given.
  if (/[\x00-\x20\x7f]/.test(text)) return invalid('it contains a space or a control character');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return invalid('it is not an absolute URL such as https://example.com/tasks');
  if (url.protocol === 'http:' && !rules.allowHttp) return invalid('it must begin with https://');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return invalid('it must begin with https://');
  if (url.username !== '' || url.password !== '') {
    return invalid(
      'it contains a user name or a password; send credentials in a header, as a secret of the worker',
    );
  }
  const port = url.port === '' ? null : Number(url.port);
  if (port !== null && port < FIRST_FREE_PORT && !WEB_PORTS.includes(port) && !rules.ports.includes(port)) {
    return invalid(`port ${port} is not allowed; use 80, 443 or a port from ${FIRST_FREE_PORT}`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 ? !rules.addresses.allow(host) : isLoopbackName(host) && !allowsLoopback(rules)) {
    return { kind: 'refused', code: 'forbidden_address', detail: forbiddenAddress(host) };
  }
  return { kind: 'ok', target: { origin: url.origin, host, path: url.pathname + url.search } };
}

/** Why nothing is sent to this host. Its addresses are not shown, because tenants must not learn internal ones. */
export function forbiddenAddress(host: string): string {
  return (
    `${host} has no address that tasks may be pushed to: loopback, private, link-local, multicast and other special ` +
    'addresses are blocked unless the operator allows them'
  );
}

/** Names that always resolve to this machine (RFC 6761, section 6.3). */
function isLoopbackName(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host);
}

function allowsLoopback({ addresses }: UrlRules): boolean {
  return addresses.allow('127.0.0.1') || addresses.allow('::1');
}

function invalid(detail: string): UrlCheck {
  return { kind: 'refused', code: 'invalid_url', detail };
}
