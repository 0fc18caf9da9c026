import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { recentlyUsed } from '../../base/collections/recently-used.ts';
import { DeliveryFault } from './delivery.ts';
import { forbiddenAddress, type SafeAddresses } from './worker-url.ts';

/** How long the result of a lookup is used, so that attempts that begin together share one. */
const FRESH_MS = 1_000;
const MAX_HOSTS = 1_000;

export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name, as the system finds them. */
export type Resolve = (host: string) => Promise<readonly HostAddress[]>;

export const systemResolve: Resolve = host => lookup(host, { all: true });

interface Entry {
  /** Milliseconds since the epoch; infinite while the lookup is in progress. */
  freshUntil: number;
  readonly addresses: Promise<readonly HostAddress[]>;
}

/** Finds the addresses of hosts and lets through those that tasks may be pushed to. */
export class HostAddresses {
  readonly #safe: SafeAddresses;
  readonly #resolve: Resolve;
  readonly #clock: Clock;
  readonly #entries = recentlyUsed<string, Entry>(MAX_HOSTS);

  constructor(safe: SafeAddresses, resolve: Resolve, clock: Clock) {
    this.#safe = safe;
    this.#resolve = resolve;
    this.#clock = clock;
  }

  /**
   * The addresses of this host that may be connected to, at least one. A name is looked up again after a second.
   *
   * @param host a name, or an address without brackets
   * @throws DeliveryFault `dns` or `forbidden_address`
   */
  of(host: string): Promise<readonly HostAddress[]> {
    const known = this.#entries.get(host);
    if (known !== undefined && this.#isFresh(known)) return known.addresses;
    const entry: Entry = { freshUntil: Number.POSITIVE_INFINITY, addresses: this.#find(host) };
    const answered = (): void => {
      entry.freshUntil = this.#clock.nowMs() + FRESH_MS;
    };
    entry.addresses.then(answered, answered);
    this.#entries.set(host, entry);
    return entry.addresses;
  }

  #isFresh({ freshUntil }: Entry): boolean {
    if (freshUntil === Number.POSITIVE_INFINITY) return true;
    const now = this.#clock.nowMs();
    // A clock that is set back must not make an answer last.
    return now < freshUntil && freshUntil <= now + FRESH_MS;
  }

  async #find(host: string): Promise<readonly HostAddress[]> {
    const found = await this.#all(host);
    const safe = found.filter(({ address }) => this.#safe.allow(address));
    if (safe.length === 0) throw new DeliveryFault('forbidden_address', forbiddenAddress(host));
    return safe;
  }

  async #all(host: string): Promise<readonly HostAddress[]> {
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family }];
    let found: readonly HostAddress[] = [];
    try {
      found = await this.#resolve(host);
    } catch {
      // Reported below as a name without addresses: the cause concerns the operator's name server.
    }
    if (found.length === 0) throw new DeliveryFault('dns', `${host} does not resolve to an address`);
    return found;
  }
}
