import type { SpanAttributes } from './tracing.ts';

/** `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. */
const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([^:]+))(?::([0-9]{1,5}))?$/i;

/**
 * Returns the attributes for both ends of a call, in the names of OpenTelemetry.
 *
 * @param authority this service as the caller addressed it: `Host` or `:authority`
 * @param peer the address of the caller, which is usually a proxy; empty for a unix socket
 */
export function endpointAttributes(authority: string, peer: string): SpanAttributes {
  const [, ipv6, name, port] = AUTHORITY.exec(authority) ?? [];
  const address = ipv6 ?? name;
  return {
    ...(address !== undefined && { 'server.address': address }),
    ...(port !== undefined && { 'server.port': Number(port) }),
    ...(peer !== '' && { 'client.address': peer, 'network.peer.address': peer }),
  };
}
