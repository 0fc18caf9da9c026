import { isIPv6 } from 'node:net';

/** More servers than anybody runs: a longer list is something else. */
const MAX_SERVERS = 1_000;

/** A memcached server of the settings. */
interface MemcachedAddress {
  readonly shown: string;
  readonly target: { readonly path: string } | { readonly host: string; readonly port: number };
}

/**
 * The servers of a list: `host:port`, `[IPv6]:port` or the path of a unix socket, with commas in between. Their order
 * says which keys each of them holds.
 * @throws MemcachedAddressFault when the list holds something else, or nothing
 */
export function memcachedAddresses(list: string): MemcachedAddress[] {
  const texts = list.split(',');
  if (texts.length > MAX_SERVERS) {
    throw new MemcachedAddressFault(`it has ${texts.length} servers, where at most ${MAX_SERVERS} are read`);
  }
  return texts.map((text, i) => addressOf(text.trim(), i + 1));
}

/** A list of servers cannot be right. */
export class MemcachedAddressFault extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'MemcachedAddressFault';
  }
}

function addressOf(text: string, place: number): MemcachedAddress {
  if (text.includes('/')) return { shown: text, target: { path: text } };
  const match = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535 || (match[1] !== undefined && !isIPv6(match[1]))) {
    throw new MemcachedAddressFault(`server ${place} is neither host:port nor the path of a unix socket`);
  }
  return { shown: text, target: { host: match[1] ?? match[2], port } };
}
