import { isIPv6 } from 'node:net';
import { parseCredentials } from '../../base/files/auth-file.ts';

/** Default address of Redis in the reference implementation. */
export const DEFAULT_REDIS_ADDRESS = '/var/run/nutcracker/ratelimit.sock';

/** Default address of the per-second Redis in the reference implementation. */
export const DEFAULT_PER_SECOND_ADDRESS = '/var/run/nutcracker/ratelimitpersecond.sock';

/** One slash is enough: `redis:/:password@host` is a typo, and a path would be printed with the password. */
const SCHEME = /^[a-z][a-z0-9+.-]*:\//i;

/** The schemes of URLs. Clouds print those that end with `s`, which means TLS. */
const REDIS_URL = /^(redis|valkey)(s?):/i;

/** Parameters of URLs that are used. */
const PARAMETERS = ['username', 'password', 'db'];

const DEFAULT_PORT = 6_379;

/** Redis stores the number of a database as a signed 32-bit integer. */
const MAX_DATABASE = 2_147_483_647;

/** True for the path of a unix socket: it holds a slash and is no URL. */
export function isSocketPath(address: string): boolean {
  return address.includes('/') && !SCHEME.test(address);
}

/**
 * True if the address can be the path of a Unix socket. A name without a slash is a path too, so only addresses that
 * must be TCP are excluded.
 */
function canBeSocketPath(address: string): boolean {
  return isSocketPath(address) || !(SCHEME.test(address) || hostAndPort(address) !== null);
}

/** Whether an address, or one in a list, is a URL that asks for TLS. */
export function asksForTls(url: string): boolean {
  return url.split(',').some(each => REDIS_URL.exec(each)?.[2].toLowerCase() === 's');
}

/** Whether some addresses of a list ask for TLS, and others do not. */
export function mixesTls(url: string): boolean {
  const schemes = url.split(',').filter(each => SCHEME.test(each));
  return asksForTls(url) && schemes.some(each => !asksForTls(each));
}

/** Names of the parameters of URLs in a list of addresses that have no effect, such as `ssl_cert_reqs`. */
export function unusedParameters(url: string): string[] {
  const names = url
    .split(',')
    .filter(each => REDIS_URL.test(each) && URL.canParse(each))
    .flatMap(each => [...new URL(each).searchParams.keys()]);
  // Behind a `?` that is not escaped, the "name" may be the rest of a password.
  return [...new Set(names)].filter(name => !PARAMETERS.includes(name) && /^[a-z][a-z_-]{1,39}$/i.test(name));
}

/** An address is invalid. The message does not contain the address, which may be a secret. */
class RedisAddressFault extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'RedisAddressFault';
  }
}

/** A parsed TCP address. */
interface TcpAddress {
  /** `host:port` or `redis://*****@host:port/database`: without credentials, for log lines and errors. */
  readonly shown: string;
  readonly host: string;
  readonly port: number;
  /** Empty for none, as is the password. */
  readonly username: string;
  readonly password: string;
  readonly database: number;
}

/**
 * Reads the TCP forms of spec 2.8: `host:port`, `[IPv6]:port`, `redis://user:password@host:port/db`, the last also
 * with the parameters `username`, `password` and `db`.
 * @throws RedisAddressFault if it has none of these forms
 */
export function readTcpAddress(address: string): TcpAddress {
  if (SCHEME.test(address)) return readUrl(address);
  const found = hostAndPort(address);
  if (/^[A-Za-z0-9._-]+$/.test(address)) throw new RedisAddressFault('the port is missing');
  if (found === null) throw new RedisAddressFault('neither host:port nor a redis:// address');
  return { ...found, shown: address, username: '', password: '', database: 0 };
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } | null {
  const match = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(address);
  if (match === null) return null;
  const [, ipv6, name, digits] = match;
  const port = Number(digits);
  if (port < 1 || port > 65_535 || (ipv6 !== undefined && !isIPv6(ipv6))) return null;
  return { host: ipv6 ?? name, port };
}

function readUrl(address: string): TcpAddress {
  const [, , tls] = REDIS_URL.exec(address) ?? [];
  if (tls === undefined) throw new RedisAddressFault('neither host:port nor a redis:// address');
  if (!URL.canParse(address)) throw new RedisAddressFault('it is not a URL');
  const url = new URL(address);
  if (url.hash !== '') throw new RedisAddressFault('a `#` ends a URL; write `%23` for it');
  if (url.search.includes('@')) throw new RedisAddressFault('a `?` begins parameters; write `%3F` for it');
  const target = hostAndPort(`${url.hostname}:${url.port || DEFAULT_PORT}`);
  if (target === null) throw new RedisAddressFault('the host is missing or invalid, or the port is 0');
  assertEscapes(url);
  const username = decodeURIComponent(url.username) || url.searchParams.get('username') || '';
  const password = decodeURIComponent(url.password) || url.searchParams.get('password') || '';
  const database = readDatabase(url);
  const hidden = username === '' && password === '' ? '' : '*****@';
  const shownDatabase = database === 0 ? '' : `/${database}`;
  const shown = `redis${tls.toLowerCase()}://${hidden}${url.hostname}:${target.port}${shownDatabase}`;
  return { ...target, shown, username, password, database };
}

/** `URL` accepts invalid escapes. */
function assertEscapes(url: URL): void {
  try {
    decodeURIComponent(`${url.username} ${url.password} ${url.search}`);
  } catch {
    throw new RedisAddressFault('a `%` in it begins no escape; write `%25` for a percent sign');
  }
}

function readDatabase(url: URL): number {
  const text = url.pathname.slice(1) || url.searchParams.get('db') || '0';
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) > MAX_DATABASE) {
    throw new RedisAddressFault(`its database is not a whole number from 0 to ${MAX_DATABASE}`);
  }
  return Number(text);
}

/** Settings for the connection to a Redis instance. */
export interface RedisAddressSettings {
  readonly socketType: 'unix' | 'tcp' | 'tcp4' | 'tcp6';
  readonly url: string;
  /** `password` or `user:password`; wins over credentials in the address. Empty for none. */
  readonly auth: string;
}

/** The address of a server and the credentials for it. */
interface Endpoint {
  readonly shown: string;
  readonly target:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly family: 0 | 4 | 6 };
  readonly username: string;
  readonly password: string;
  readonly database: number;
}

/**
 * Address and credentials of Redis, in the form that the Redis store uses.
 * @throws RedisAddressFault for an address that the settings refuse
 */
export function redisEndpoint({ socketType, url, auth }: RedisAddressSettings): Endpoint {
  if (socketType === 'unix') {
    return { shown: url, target: { path: url }, database: 0, ...(parseCredentials(auth) ?? NOBODY) };
  }
  return tcpEndpoint(url, auth, FAMILIES[socketType]);
}

/**
 * The nodes of a cluster: addresses separated by commas. The socket type does not count: nodes are reached by TCP.
 * @throws RedisAddressFault if an address is invalid, or there are no addresses
 */
export function clusterEndpoints({ url, auth }: Pick<RedisAddressSettings, 'url' | 'auth'>): Endpoint[] {
  const endpoints = listed(url).map(address => tcpEndpoint(address, auth, 0));
  if (endpoints.some(({ database }) => database !== 0)) {
    throw new RedisAddressFault('a cluster only has database 0');
  }
  // Nodes that are discovered later use the credentials of the first one.
  const [{ username, password }] = endpoints;
  return endpoints.map(each => (each.password === '' ? { ...each, username, password } : each));
}

/** A master that sentinels know by name. */
interface SentinelAddress {
  readonly masterName: string;
  readonly sentinels: readonly Endpoint[];
  /** How the master is asked; its place is what the sentinels say. */
  readonly access: Endpoint;
}

/**
 * The name of the master and its sentinels, separated by commas. Credentials in the address of the first sentinel
 * are for all sentinels, unless others are given for them.
 * @throws RedisAddressFault when the name or the sentinels are missing, or one of them is no address
 */
export function sentinelAddress(
  { url, auth }: Pick<RedisAddressSettings, 'url' | 'auth'>,
  sentinelAuth: string,
): SentinelAddress {
  const [masterName, ...addresses] = listed(url);
  if (SCHEME.test(masterName) || addresses.length === 0) {
    throw new RedisAddressFault('the name of the master or the sentinels after it are missing');
  }
  const endpoints = addresses.map(address => tcpEndpoint(address, sentinelAuth, 0));
  const [{ username, password }] = endpoints;
  const sentinels = endpoints.map(each => ({
    ...(each.password === '' ? { ...each, username, password } : each),
    database: 0,
  }));
  const access = { ...sentinels[0], ...(parseCredentials(auth) ?? NOBODY) };
  return { masterName, sentinels, access };
}

/**
 * The problem with the address of a Redis instance and the accepted forms; null if the address is valid.
 *
 * @param typeName the variable for the type of this instance, which a list of addresses needs
 */
export function redisAddressFault({
  type,
  socketType,
  url,
  typeName,
}: Pick<RedisAddressSettings, 'socketType' | 'url'> & {
  readonly type: 'single' | 'sentinel' | 'cluster';
  readonly typeName: string;
}): { readonly problem: string; readonly accepted: string } | null {
  if (type === 'single' && socketType === 'unix') {
    if (canBeSocketPath(url)) return null;
    return { problem: 'not an address for a unix socket', accepted: 'the path of a unix socket' };
  }
  try {
    if (type === 'cluster') clusterEndpoints({ url, auth: '' });
    else if (type === 'sentinel') sentinelAddress({ url, auth: '' }, '');
    else readTcpAddress(url);
    return null;
  } catch (fault) {
    if (!(fault instanceof RedisAddressFault)) throw fault;
    if (type === 'single' && url.includes(',')) return listFault(url, typeName);
    const network = type === 'single' ? socketType : type;
    return { problem: `not an address for ${network}: ${fault.message}`, accepted: ACCEPTED[type] };
  }
}

/** A list is an address of sentinels if it begins with the name of a master. */
function listFault(url: string, typeName: string): { readonly problem: string; readonly accepted: string } {
  const beginsWithName = /^[^:,/]+,/.test(url);
  const [likely, what] = beginsWithName
    ? ['sentinel', 'the name of a master and its sentinels']
    : ['cluster', 'the nodes of a cluster'];
  return {
    problem: `a list of addresses, but ${typeName} is single: it seems to be ${what}`,
    accepted: `${typeName}=${likely} for this list, or the address of one server`,
  };
}

const ONE_SERVER = 'host:port (port 1 to 65535) or redis://user:password@host:port/db (rediss:// for TLS)';

const ACCEPTED = {
  single: ONE_SERVER,
  sentinel: `the name of the master, then its sentinels, separated by commas, each ${ONE_SERVER}`,
  cluster: `the nodes of the cluster, separated by commas, each ${ONE_SERVER}`,
} as const;

function listed(url: string): string[] {
  const items = url.split(',');
  if (items.includes('')) throw new RedisAddressFault('an entry of the list is empty');
  return items;
}

function tcpEndpoint(url: string, auth: string, family: 0 | 4 | 6): Endpoint {
  const { shown, host, port, database, username, password } = readTcpAddress(url);
  return {
    shown,
    target: { host, port, family },
    database,
    ...(parseCredentials(auth) ?? { username, password }),
  };
}

const FAMILIES = { tcp: 0, tcp4: 4, tcp6: 6 } as const;

const NOBODY = { username: '', password: '' };
