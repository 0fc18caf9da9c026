import { parseInteger } from './go-numbers.ts';
import { host, type Kind, type Reading } from './kinds.ts';

/** A name and a value. */
export type TagText = readonly [name: string, value: string];

/** `name:value` pairs, as the reference implementation reads maps: nothing is trimmed, a later pair of a name wins. */
export const tags: Kind<readonly TagText[]> = {
  label: 'name:value pairs, separated by commas',
  accepts: 'name:value pairs, separated by commas, with one colon each, such as env:prod,zone:a; or empty',
  read(text) {
    if (text.trim() === '') return { value: [] };
    const pairs = text.split(',').map(pair => pair.split(':'));
    if (pairs.some(pair => pair.length !== 2)) return { refused: 'a pair without exactly one colon' };
    return { value: [...new Map(pairs as [string, string][])] };
  },
  write: pairs => pairs.map(pair => pair.join(':')).join(','),
};

/** Names that are parts of environment variables. */
export const names: Kind<readonly string[]> = {
  label: 'names, separated by commas',
  accepts: 'names of letters, digits and _, separated by commas; or empty',
  read(text) {
    if (text.trim() === '') return { value: [] };
    const value = text.split(',');
    return value.every(name => /^\w+$/.test(name)) ? { value } : { refused: 'one of them is not a name' };
  },
  write: value => value.join(','),
};

/** Host and port to listen on. */
interface ListenAddressText {
  /** Empty for every interface. */
  readonly host: string;
  readonly port: number;
}

const DEFAULT_METRICS_PORT = 9090;

/** `:9090`, `127.0.0.1:9090`, `[::1]:9090`; empty is the default, as for the reference implementation. */
export const listenAddress: Kind<ListenAddressText> = {
  label: 'host:port, without a host for every interface',
  accepts: 'host:port or :port with a port from 0 to 65535, such as :9090, 127.0.0.1:9090 or [::1]:9090',
  read(text): Reading<ListenAddressText> {
    if (text === '') return { value: { host: '', port: DEFAULT_METRICS_PORT } };
    const [, hostText, portText] = /^(\[.*\]|[^:]*):(\d{1,5})$/.exec(text) ?? [];
    if (portText === undefined) return { refused: 'not in the accepted format' };
    const reading = host.read(hostText);
    if ('refused' in reading) return reading;
    const port = parseInteger(portText.replace(/^0+(?=\d)/, '')) as number;
    return port <= 65_535 ? { value: { host: reading.value, port } } : { refused: 'out of range' };
  },
  write: ({ host: name, port }) => `${name.includes(':') ? `[${name}]` : name}:${port}`,
};

const DEFAULT_METRICS_PATH = '/metrics';

/** The path of a page; empty is the default, as for the reference implementation. */
export const pagePath: Kind<string> = {
  label: 'path of a page',
  accepts: 'a path that begins with / and has no spaces, ? or #, such as /metrics',
  read(text) {
    if (text === '') return { value: DEFAULT_METRICS_PATH };
    return /^\/[^\s?#*:]*$/.test(text) ? { value: text } : { refused: 'not in the accepted format' };
  },
  write: String,
};
