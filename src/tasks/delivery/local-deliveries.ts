import type { Clock } from '../../base/clock.ts';
import { Attempt, type AttemptParts } from './attempt.ts';
import { Connections } from './connections.ts';
import type { Deliveries, DeliveryOutcome, DeliveryRequest } from './delivery.ts';
import { notMade } from './delivery-errors.ts';
import { HostAddresses, type Resolve } from './host-addresses.ts';
import { SafeAddresses } from './safe-address.ts';
import type { UrlRules } from './worker-url.ts';

/** What deliveries need to know, as plain data: it is sent to threads. */
export interface DeliverySetup {
  /** Attempts at once. */
  readonly capacity: number;
  /** See {@link SafeAddresses}. */
  readonly networks: readonly string[];
  /** See {@link UrlRules}. */
  readonly ports: readonly number[];
  readonly allowHttp: boolean;
  readonly userAgent: string;
  /** Certificates (PEM) of authorities that are trusted beside the well-known ones; null for none. */
  readonly ca: string | null;
}

/** @throws Error for a network that cannot be read */
export function urlRules({
  networks,
  ports,
  allowHttp,
}: Pick<DeliverySetup, 'networks' | 'ports' | 'allowHttp'>): UrlRules {
  return { addresses: new SafeAddresses(networks), ports, allowHttp };
}

/** Pushes tasks from the thread that it is made in. */
export class LocalDeliveries implements Deliveries {
  readonly capacity: number;
  readonly #parts: AttemptParts;
  readonly #running = new Set<Attempt>();
  #stopped = false;

  /** @throws Error for a network that cannot be read */
  constructor(setup: DeliverySetup, resolve: Resolve, clock: Clock) {
    const { capacity, userAgent, ca } = setup;
    const rules = urlRules(setup);
    this.capacity = capacity;
    this.#parts = {
      rules,
      addresses: new HostAddresses(rules.addresses, resolve, clock),
      connections: new Connections({ maxIdle: capacity, ca, clock }),
      userAgent,
      clock,
    };
  }

  get free(): number {
    return this.#stopped ? 0 : this.capacity - this.#running.size;
  }

  /** Connections that there are, idle or in use. */
  get connections(): number {
    return this.#parts.connections.size;
  }

  async start(): Promise<void> {}

  async deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    if (this.free <= 0)
      return notMade(this.#stopped ? 'deliveries are stopped' : 'too many attempts at once');
    const attempt = new Attempt(request, this.#parts);
    this.#running.add(attempt);
    try {
      return await attempt.outcome;
    } finally {
      this.#running.delete(attempt);
    }
  }

  abort(tenant: string, taskId: string): void {
    for (const attempt of this.#running) {
      const { request } = attempt;
      if (request.tenant === tenant && request.task.id === taskId) attempt.abort();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const attempt of this.#running) attempt.abort();
    this.#parts.connections.close();
  }
}
