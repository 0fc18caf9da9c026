import { systemClock } from '../../../../src/base/clock.ts';
import { textAnswer } from '../../../../src/transports/http/answer.ts';
import type { Exchange } from '../../../../src/transports/http/exchange.ts';
import { HttpListener, type HttpListenerOptions } from '../../../../src/transports/http/listener.ts';
import { jsonNotFound, type Route } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { httpEngine } from './on-each-engine.ts';
import { plain, type RawConnection } from './raw-connection.ts';

/** The part of a tap test that releases what a test has opened. */
interface Teardown {
  teardown(release: () => unknown): void;
}

/** A listener on a free port of the loopback address, not started. Its `stop` waits for nobody. */
export function listenerFor(
  routes: readonly Route[],
  options: Partial<HttpListenerOptions> = {},
): HttpListener {
  return new HttpListener({
    name: 'http',
    engine: httpEngine(),
    host: '127.0.0.1',
    port: 0,
    settings: { host: 'HOST', port: 'PORT', sharing: 'by SHARE_PORTS' },
    routes,
    unknown: jsonNotFound(routes),
    drainMs: 0,
    clock: systemClock,
    log: new KeepingLogger(),
    ...options,
  });
}

/** The same, started, and stopped at the end of the test. */
export async function serve(
  t: Teardown,
  routes: readonly Route[],
  options: Partial<HttpListenerOptions> = {},
): Promise<HttpListener> {
  const listener = listenerFor(routes, options);
  await listener.start();
  t.teardown(() => listener.stop());
  return listener;
}

/** A route that greets. */
export const hello: Route = {
  path: '/hello',
  method: 'GET',
  help: 'greets',
  handle: exchange => exchange.answer(textAnswer('hello')),
};

/** A route that answers when the test says so. */
export class HeldRoute {
  readonly route: Route;
  #arrived: (exchange: Exchange) => void = () => {};

  constructor() {
    this.route = {
      path: '/held',
      method: 'GET',
      help: 'waits',
      handle: exchange => this.#arrived(exchange),
    };
  }

  /** Asks for it on a connection. */
  async askedBy(connection: RawConnection): Promise<Exchange> {
    const arrived = this.next();
    await connection.write(plain('GET', '/held'));
    return await arrived;
  }

  /** The next request. Call it before the request is sent. */
  next(): Promise<Exchange> {
    return new Promise(resolve => {
      this.#arrived = resolve;
    });
  }
}
