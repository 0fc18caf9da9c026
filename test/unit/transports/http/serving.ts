import { systemClock } from '../../../../src/base/clock.ts';
import { HttpListener, type HttpListenerOptions } from '../../../../src/transports/http/listener.ts';
import { jsonNotFound, type Route } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';

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
