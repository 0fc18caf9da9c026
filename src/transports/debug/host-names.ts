import { hostname } from 'node:os';
import { quote } from '../../base/printable.ts';
import { type Answer, errorAnswer, textAnswer } from '../http/answer.ts';
import type { Handler } from '../http/routes.ts';
import { OperatorProblem, problemAnswer } from './operator/problem.ts';
import { MAX_API_BODY_BYTES } from './operator/read-call.ts';

/**
 * Ends of names that cannot be registered in the public DNS: reserved ones (RFC 6761, 6762, 8375; ICANN reserves
 * `internal`), and those that private networks use although they were never delegated (RFC 6762, appendix G).
 */
const PRIVATE_ENDS = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'home.arpa',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'svc',
  'test',
].map(end => `.${end}`);

/** A host with an optional port (RFC 9110, 7.2). */
const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/;

/** How a route refuses a request. `text` says why, without a period at its end. */
type Refusal = (text: string) => Answer;

/** For what a browser shows. */
export const asText: Refusal = text => textAnswer(`${text}.\n`, '421 Misdirected Request');

/** For the operator's API. */
export const asProblem: Refusal = text => problemAnswer(new OperatorProblem('unknown_host', `${text}.`));

/** For routes that answer errors as the HTTP port does. */
export const asError: Refusal = message => errorAnswer({ code: 'unknown_host', message });

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * The names under which a browser may read the live page and the operator's API. A page of another web site can let its
 * own name refer to the address of this service (DNS rebinding). The browser then takes it for a page of this service, and
 * lets it read all answers. But it sends that name, which is neither configured nor one that only the private network has.
 */
export class HostNames {
  readonly #names: ReadonlySet<string>;
  readonly #ends: readonly string[];

  /**
   * @param configured names in lower case; `*.` at the start stands for one or more names
   * @param own the name of this machine
   */
  constructor(configured: readonly string[], own = hostname()) {
    const names = [...configured, own.toLowerCase()];
    this.#names = new Set(names.filter(name => !name.startsWith('*')));
    this.#ends = [...PRIVATE_ENDS, ...names.filter(name => name.startsWith('*.')).map(name => name.slice(1))];
  }

  /** @param host the value of the `Host` field; empty if it is missing, which no browser does */
  allows(host: string): boolean {
    const read = HOST.exec(host.toLowerCase());
    if (read === null) return false;
    const name = read[1].replace(/\.$/, '');
    // Addresses, and names without a dot: only a resolver of the private network knows those.
    if (name.startsWith('[') || IPV4.test(name) || !name.includes('.')) return true;
    return this.#names.has(name) || this.#ends.some(end => name.endsWith(end));
  }

  /** The same handler for these names only. */
  only(handle: Handler, refusal: Refusal): Handler {
    return (exchange, request) => {
      const host = request.header('host');
      if (this.allows(host)) handle(exchange, request);
      else exchange.refuseBody(refusal(textFor(host)), MAX_API_BODY_BYTES);
    };
  }
}

function textFor(host: string): string {
  return (
    `The request is for the host ${quote(host)}, which is not a name of this service. If it is, add it to ` +
    'DEBUG_HOST_NAMES and restart the service, or use an IP address. Other names are refused because pages of other ' +
    'web sites could read the answers through them (DNS rebinding)'
  );
}
