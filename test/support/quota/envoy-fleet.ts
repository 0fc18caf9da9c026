import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Envoy } from '../envoy.ts';
import type { Teardown } from '../temp-directory.ts';

/** How often requests are sent. */
const TICK_MS = 5;

/** A request that has reached the upstream: when, from which user, and through which proxy. */
interface Arrival {
  readonly atMs: number;
  readonly user: string;
  readonly proxy: string;
}

/** The upstream of all proxies, which counts what was admitted. */
export class CountingUpstream {
  readonly #arrivals: Arrival[] = [];
  readonly #server = createServer((request, response) => {
    const { 'x-user': user, 'x-proxy': proxy } = request.headers;
    this.#arrivals.push({ atMs: Date.now(), user: String(user), proxy: String(proxy) });
    response.end();
  });

  static async start(t: Teardown): Promise<CountingUpstream> {
    const upstream = new CountingUpstream();
    upstream.#server.listen(0, '127.0.0.1');
    await once(upstream.#server, 'listening');
    t.teardown(() => {
      upstream.#server.closeAllConnections();
      upstream.#server.close();
    });
    return upstream;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The numbers of requests of a user in all windows of a length, in their order. */
  perWindow(user: string, windowMs: number): number[] {
    const windows = new Map<number, number>();
    for (const { atMs, user: sender } of this.#arrivals) {
      const window = Math.floor(atMs / windowMs);
      if (sender === user) windows.set(window, (windows.get(window) ?? 0) + 1);
    }
    return [...windows].sort(([one], [other]) => one - other).map(([, count]) => count);
  }

  /** Requests of a user per second since a time, through a proxy or through all. */
  rateSince(fromMs: number, user: string, proxy?: string): number {
    let count = 0;
    for (let i = this.#arrivals.length - 1; i >= 0 && this.#arrivals[i].atMs >= fromMs; i--) {
      const arrival = this.#arrivals[i];
      if (arrival.user === user && (proxy === undefined || arrival.proxy === proxy)) count++;
    }
    return count / ((Date.now() - fromMs) / 1_000);
  }
}

/** An Envoy that decides by itself. */
export interface QuotaProxy {
  readonly name: string;
  readonly envoy: Envoy;
}

/** Starts an Envoy with ops/envoy/quota.yaml. @param instances `host:port` of the gRPC ports of Sluice */
export async function quotaProxy(
  t: Teardown,
  name: string,
  upstream: CountingUpstream,
  instances: readonly string[],
): Promise<QuotaProxy> {
  const endpoint = (host: string, port: string | number) => `              - endpoint:
                  address:
                    socket_address: { address: ${host}, port_value: ${port} }
`;
  const endpoints = instances.map(instance => {
    const [host, port] = instance.split(':');
    return endpoint(host, port);
  });
  const envoy = await Envoy.start(t, 'quota.yaml', [
    ['address: upstream, port_value: 80 ', `address: 127.0.0.1, port_value: ${upstream.port} `],
    [endpoint('sluice', 8081), endpoints.join('')],
  ]);
  return { name, envoy };
}

/** Requests of a user to a proxy, evenly, until they are stopped. */
export class SteadyLoad {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 20 });
  readonly #timer: NodeJS.Timeout;
  /** Requests that are due, below 1. */
  #due = 0;
  #untilMs = performance.now();

  constructor(t: Teardown, { name, envoy }: QuotaProxy, user: string, perSecond: number) {
    const [host, port] = envoy.front.split(':');
    const options = { host, port, agent: this.#agent, headers: { 'x-user': user, 'x-proxy': name } };
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#due += ((nowMs - this.#untilMs) / 1_000) * perSecond;
      this.#untilMs = nowMs;
      for (; this.#due >= 1; this.#due--)
        get(options, response => response.resume()).on('error', () => {
          // A proxy that was killed, or a load that was stopped. The upstream counts what was admitted.
        });
    }, TICK_MS);
    t.teardown(() => this.stop());
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }
}
