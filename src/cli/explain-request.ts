import { type FlagValues, textFlag } from './terminal/flags.ts';
import { UsageFault } from './terminal/io.ts';

/** Flags that describe an HTTP request, which the rules turn into descriptors. */
export const DESCRIBED_REQUEST_FLAGS = {
  request: textFlag('METHOD TARGET', 'instead of descriptors: an HTTP request, such as "GET /a?b=c"'),
  header: {
    kind: 'list',
    placeholder: 'NAME: VALUE',
    help: 'a header of the HTTP request; repeat the flag for further headers',
  },
  host: textFlag('NAME', 'the host of the HTTP request'),
  'client-address': textFlag('ADDRESS', 'the address of its client, instead of the one in its headers'),
} as const;

/**
 * The HTTP request that the flags describe, in the form of `/json`; null if they describe none.
 *
 * @throws UsageFault when a flag is malformed
 */
export function describedRequest(flags: FlagValues<typeof DESCRIBED_REQUEST_FLAGS>): object | null {
  const { request, header, host, 'client-address': clientAddress } = flags;
  if (request === '' && header.length === 0 && host === '' && clientAddress === '') return null;
  const [method, target, ...others] = request.split(' ');
  if (target === undefined || others.length > 0)
    throw new UsageFault('--request needs a method and a target: write --request "GET /path?name=value".');
  return { method, target, host, clientAddress, headers: headersOf(header) };
}

/** Values of a repeated header are joined (RFC 9110, 5.3). */
function headersOf(lines: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) throw new UsageFault(`--header "${line}" is not a header: write --header "NAME: VALUE".`);
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(headers);
}
