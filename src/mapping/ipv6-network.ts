import { SocketAddress } from 'node:net';

const GROUPS = 8;
const GROUP_BITS = 16;

/**
 * The network of an IPv6 address, such as `2001:db8:1:2::/64`. One client mostly has all addresses of a network, so a limit
 * for each address would not limit it.
 *
 * @param address without a zone and without an IPv4 address in it
 * @param prefix number of bits, 1 to 128
 */
export function ipv6Network(address: string, prefix: number): string {
  const kept = groupsOf(address).map((group, i) => {
    const bits = Math.min(Math.max(prefix - i * GROUP_BITS, 0), GROUP_BITS);
    return (group & (0xffff << (GROUP_BITS - bits)) & 0xffff).toString(16);
  });
  const network = new SocketAddress({ address: kept.join(':'), family: 'ipv6' }).address;
  return `${network}/${prefix}`;
}

/** The eight numbers of an address; `::` stands for those that are 0. */
function groupsOf(address: string): readonly number[] {
  const [head, tail = ''] = address.split('::');
  const [first, last] = [head, tail].map(part => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: GROUPS - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].map(group => Number.parseInt(group, 16));
}
