import type { Clock } from '../../base/clock.ts';
import {
  acceptMessages,
  type LastingTask,
  type StopThread,
  type ThreadIsReady,
} from '../../base/threads/inside-thread.ts';
import { Attempt, type AttemptParts } from './attempt.ts';
import { Connections } from './connections.ts';
import { type Deliveries, type DeliveryOutcome, type DeliveryRequest, notMade } from './delivery.ts';
import { HostAddresses, type Resolve } from './host-addresses.ts';
import { SafeAddresses, type UrlRules } from './worker-url.ts';

/** Configuration of deliveries, as plain data that is sent to threads. */
export interface DeliverySetup {
  /** Maximum number of concurrent attempts. */
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

/** Pushes tasks from the current thread. */
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
      return notMade(this.#stopped ? 'deliveries are stopped' : 'too many concurrent attempts');
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

/** Attempts are numbered by the requesting thread. These are the only messages that contain secrets. */
export type MessageToThread =
  | { readonly kind: 'deliver'; readonly requests: readonly (readonly [number: number, DeliveryRequest])[] }
  | { readonly kind: 'abort'; readonly tenant: string; readonly taskId: string }
  | StopThread;

export type MessageFromThread =
  | ThreadIsReady
  | { readonly kind: 'done'; readonly outcomes: readonly (readonly [number: number, DeliveryOutcome])[] };

/**
 * Makes the attempts that arrive over the port and sends their outcomes. All outcomes of one turn of the event loop go in
 * one message. A message for each takes a quarter more processor time (`bench/part/deliveries.ts`).
 *
 * @returns resolves after a stop message, when no attempt is left
 * @throws Error for a network of the setup that cannot be read
 */
export async function serveDeliveries(
  { port }: LastingTask,
  setup: DeliverySetup,
  resolve: Resolve,
  clock: Clock,
): Promise<void> {
  const deliveries = new LocalDeliveries(setup, resolve, clock);
  const stopped = Promise.withResolvers<void>();
  let done: [number, DeliveryOutcome][] = [];
  const tell = (): void => {
    const outcomes = done;
    done = [];
    if (outcomes.length > 0) port.postMessage({ kind: 'done', outcomes } satisfies MessageFromThread);
  };
  const deliver = async (number: number, request: DeliveryRequest): Promise<void> => {
    const outcome = await deliveries.deliver(request);
    done.push([number, outcome]);
    if (done.length === 1) setImmediate(tell);
  };
  acceptMessages<MessageToThread>(port, message => {
    if (message.kind === 'deliver') {
      for (const [number, request] of message.requests) void deliver(number, request);
    } else if (message.kind === 'abort') deliveries.abort(message.tenant, message.taskId);
    else deliveries.stop().then(stopped.resolve, stopped.reject);
  });
  // The port is closed, so no outcome can be sent.
  port.once('close', stopped.resolve);
  try {
    await stopped.promise;
    // The outcomes of aborted attempts are sent in the next turn of the event loop.
    await new Promise(setImmediate);
    tell();
  } finally {
    await deliveries.stop();
    port.close();
  }
}
