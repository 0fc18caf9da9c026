import { isIP } from 'node:net';
import type { SafeAddresses } from './safe-address.ts';

export const MAX_URL_LENGTH = 2_048;
/** Below it ports are those of the system's own services: mail, name service, remote login. */
const FIRST_FREE_PORT = 1_024;
const WEB_PORTS = [80, 443];

/** What the operator lets tasks be pushed to. */
export interface UrlRules {
  readonly addresses: SafeAddresses;
  /** Without it only `https:`. */
  readonly allowHttp: boolean;
  /** Ports below 1024, beside 80 and 443. */
  readonly ports: readonly number[];
}

/** Where a push goes. */
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
      /** A sentence for whoever gave the URL: what is wrong, and what is accepted. */
      readonly detail: string;
    };

/**
 * Whether tasks can be pushed to this URL, as far as can be told without asking for the addresses of its name: they are
 * checked before each attempt.
 */
export function checkWorkerUrl(text: string, rules: UrlRules): UrlCheck {
  if (text.length > MAX_URL_LENGTH)
    return invalid(`it has ${text.length} characters, and may have ${MAX_URL_LENGTH}`);
  // The parser reads over tabs, line breaks and blanks at the ends, and what is sent would not be what was given.
  if (/[\x00-\x20\x7f]/.test(text)) return invalid('it holds a blank or a control character');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return invalid('it is no absolute URL, such as https://example.com/tasks');
  if (url.protocol === 'http:' && !rules.allowHttp) return invalid('it must begin with https://');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return invalid('it must begin with https://');
  if (url.username !== '' || url.password !== '') {
    return invalid('it holds a user name or a password: send them in a header, as a secret of the worker');
  }
  const port = url.port === '' ? null : Number(url.port);
  if (port !== null && port < FIRST_FREE_PORT && !WEB_PORTS.includes(port) && !rules.ports.includes(port)) {
    return invalid(`port ${port} is not allowed: 80, 443 and those from ${FIRST_FREE_PORT} on are`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 ? !rules.addresses.allow(host) : isLoopbackName(host) && !allowsLoopback(rules)) {
    return { kind: 'refused', code: 'forbidden_address', detail: forbiddenAddress(host) };
  }
  return { kind: 'ok', target: { origin: url.origin, host, path: url.pathname + url.search } };
}

/** Why nothing is sent to this host. It does not say what its addresses are: that is for the operator's name server. */
export function forbiddenAddress(host: string): string {
  return (
    `${host} leads to no address that tasks are pushed to: loopback, private, link-local, multicast and other special ` +
    'addresses are for the operator to allow'
  );
}

/** Names that lead to this machine wherever they are asked for (RFC 6761, section 6.3). */
function isLoopbackName(host: string): boolean {
  return /(^|\.)localhost\.?$/.test(host);
}

function allowsLoopback({ addresses }: UrlRules): boolean {
  return addresses.allow('127.0.0.1') || addresses.allow('::1');
}

function invalid(detail: string): UrlCheck {
  return { kind: 'refused', code: 'invalid_url', detail };
}
