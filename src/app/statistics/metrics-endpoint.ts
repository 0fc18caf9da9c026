import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { EXPOSITION_TYPE, type Exposition } from '../../stats/sinks/prometheus/exposition.ts';
import { errorAnswer } from '../../transports/http/answer.ts';
import { type HttpEngine, HttpListener } from '../../transports/http/listener.ts';
import { jsonNotFound, type Route } from '../../transports/http/routes.ts';
import { OptionalPort } from '../ports/optional-port.ts';

/** Maximum number of concurrent scrapes. Each one holds its series in memory and takes CPU time from decisions. */
const MAX_SCRAPES = 2;

/** Delay before another attempt to open the port. */
const RETRY_MS = 5_000;

const PAGE = { status: '200 OK', contentType: EXPOSITION_TYPE };

const TOO_MANY_SCRAPES = errorAnswer({
  code: 'overloaded',
  message: `${MAX_SCRAPES} scrapes are already in progress; retry when one of them has finished`,
});

interface MetricsEndpointOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly path: string;
  readonly exposition: Exposition;
  readonly engine: HttpEngine;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The port that Prometheus scrapes (spec 4.4). It requires no credentials. */
export class MetricsEndpoint implements Service {
  readonly name = 'metrics';
  readonly #options: MetricsEndpointOptions;
  readonly #listener: HttpListener;
  readonly #opening: OptionalPort;

  constructor(options: MetricsEndpointOptions) {
    const { host, port, path, engine, clock, logger } = options;
    const routes = [metricsRoute(options)];
    this.#options = options;
    this.#listener = new HttpListener({
      name: this.name,
      engine,
      host,
      port,
      settings: { host: 'PULLSTATS_ADDR', port: 'PULLSTATS_ADDR', sharing: 'never' },
      routes,
      unknown: jsonNotFound(routes),
      drainMs: 0,
      clock,
      log: logger,
    });
    this.#opening = new OptionalPort(this.name, this.#listener, RETRY_MS, options, () =>
      logger.info('Metrics server listening', { name: this.name, address: this.address ?? '', path }),
    );
  }

  /** The port number; 0 while the port is closed. */
  get port(): number {
    return this.#listener.port;
  }

  /** Host and port; null while the port is closed. */
  get address(): string | null {
    const { host } = this.#options;
    if (this.port === 0) return null;
    return `${host.includes(':') ? `[${host}]` : host || '0.0.0.0'}:${this.port}`;
  }

  /** Opens the port. The service works without it, so a failure is logged and retried. */
  start(): Promise<void> {
    return this.#opening.start();
  }

  stop(): Promise<void> {
    return this.#opening.stop();
  }
}

function metricsRoute({ path, exposition }: MetricsEndpointOptions): Route {
  let scrapes = 0;
  return {
    path,
    method: 'GET',
    help: 'statistics in the Prometheus format',
    async handle(exchange) {
      if (scrapes === MAX_SCRAPES) return exchange.answer(TOO_MANY_SCRAPES);
      scrapes++;
      try {
        await exposition.collect();
        await exchange.stream(PAGE, exposition.lines());
      } catch (thrown) {
        exchange.fail(thrown);
      } finally {
        scrapes--;
      }
    },
  };
}
