import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { ADDRESS_LISTS, type ClientAddressRule } from '../rules/request-mapping.ts';
import { forwardedFor } from './forwarded.ts';

const [, FORWARDED] = ADDRESS_LISTS;

/** The longest text that can be an address, with brackets, a zone and a port. */
const LONGEST_ADDRESS = 80;

/** The prefix of IPv6 addresses that stand for IPv4 addresses (RFC 4291, 2.5.5.2). */
const MAPPED = '::ffff:';

const COMMA = ',';

/**
 * The address of the client of a request: the one that the first of the trusted proxies was called from. If the list has
 * fewer addresses than there are proxies, all of them are from trusted proxies, and the first one is nearest to the client.
 *
 * Addresses further left in the list are whatever the client has sent, so they are not looked at.
 *
 * @param list the header of the rule; empty if the request does not have it. Of a header with one address that is repeated, the
 *   last one counts: the proxy next to Sluice has added it
 * @param peer the address of the caller of Sluice
 * @returns an address in its usual spelling; empty if it is not known
 */
export function clientAddress(
  { header, trustedProxies }: ClientAddressRule,
  list: string,
  peer: string,
): string {
  if (!(ADDRESS_LISTS as readonly string[]).includes(header)) return addressOf(fromEnd(list, 1));
  if (trustedProxies === 0) return addressOf(peer);
  if (list === '') return '';
  return addressOf(header === FORWARDED ? forwardedFor(list, trustedProxies) : fromEnd(list, trustedProxies));
}

/** An item of a list with commas, counted from its end; the first one if there are fewer. */
function fromEnd(list: string, number: number): string {
  let end = list.length;
  let start = list.lastIndexOf(COMMA) + 1;
  for (let left = number; left > 1 && start > 0; left--) {
    end = start - 1;
    // `lastIndexOf` begins at 0 for a negative index.
    start = end === 0 ? 0 : list.lastIndexOf(COMMA, end - 1) + 1;
  }
  return list.slice(start, end);
}

/**
 * An address without its port, brackets and zone. Names that proxies use instead of addresses, such as `unknown` and
 * `_hidden` (RFC 7239, 6.3), are none: they can be different for each request.
 */
export function addressOf(text: string): string {
  if (text.length > LONGEST_ADDRESS + 2) return '';
  const written = text.trim();
  if (isIPv4(written)) return written;
  if (written.startsWith('[')) {
    const end = written.indexOf(']');
    return end < 0 ? '' : ipv6Of(written.slice(1, end));
  }
  const colon = written.indexOf(':');
  if (colon > 0 && colon === written.lastIndexOf(':')) {
    const host = written.slice(0, colon);
    return isIPv4(host) ? host : '';
  }
  return ipv6Of(written);
}

/** An IPv6 address in the spelling of RFC 5952, or the IPv4 address that it stands for; empty if it is none. */
function ipv6Of(text: string): string {
  const zone = text.indexOf('%');
  const written = zone < 0 ? text : text.slice(0, zone);
  if (!isIPv6(written)) return '';
  const { address } = new SocketAddress({ address: written, family: 'ipv6' });
  return address.startsWith(MAPPED) && isIPv4(address.slice(MAPPED.length))
    ? address.slice(MAPPED.length)
    : address;
}
