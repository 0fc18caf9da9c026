import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { RequestMapper } from '../../mapping/request-mapper.ts';
import type { StatsReader } from '../../stats/registry.ts';
import { type HttpEngine, HttpListener } from '../http/listener.ts';
import type { Route } from '../http/routes.ts';
import { forBrowsers, PageRoutes } from '../page/page-routes.ts';
import type { AddressSettings, TcpAddress } from '../tcp-address.ts';
import { type Explain, explainRoute } from './explain-route.ts';
import { asError, asProblem, asText, HostNames } from './host-names.ts';
import type { OperatorApi } from './operator/router.ts';
import { indexPages, longPageRoutes, type RuleDumps } from './pages.ts';
import { profileIndexRoute, profileRoute } from './profile-routes.ts';
import { CPU_PROFILE, HEAP_PROFILE, ProfileRecorder } from './profiler.ts';

/** Port 0 takes any free port. */
export interface DebugServerOptions extends TcpAddress, RuleDumps {
  readonly engine: HttpEngine;
  /** The settings that hold host and port, for the message when listening fails. */
  readonly settings: AddressSettings;
  /** Names under which the live page and the operator's API may be opened, beside those that are always allowed. */
  readonly hostNames: readonly string[];
  readonly stats: StatsReader;
  /** For `/explain`. */
  readonly explain: Explain;
  /** For requests that `/explain` maps. */
  readonly mapper: RequestMapper;
  readonly operator: OperatorApi;
  /** How long `stop` waits for answers that clients are still reading. */
  readonly drainMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Running {
  readonly listener: HttpListener;
  readonly recorders: readonly ProfileRecorder[];
}

/**
 * The debug port (spec 4.3): rules, statistics, explanations, profiles of the primary thread, the operator's API, and
 * the live page for browsers.
 * Callers need no credentials, except for changes through the API.
 */
export class DebugServer implements Service {
  readonly name = 'debug';
  readonly #options: DebugServerOptions;
  #running: Running | null = null;
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: DebugServerOptions) {
    this.#options = options;
  }

  /** The port number; 0 while the port is closed. */
  get port(): number {
    return this.#running?.listener.port ?? 0;
  }

  /**
   * Opens the port.
   *
   * @throws Error naming the address and the settings to change, if the port cannot be opened
   */
  async start(): Promise<void> {
    const { stats, explain, mapper, operator, clock } = this.#options;
    const names = new HostNames(this.#options.hostNames);
    const recorders = [new ProfileRecorder(CPU_PROFILE, clock), new ProfileRecorder(HEAP_PROFILE, clock)];
    const explained = explainRoute(explain, mapper, clock);
    const pages: Route[] = [
      profileIndexRoute(recorders.map(recorder => recorder.kind)),
      ...recorders.map(profileRoute),
      ...longPageRoutes(this.#options, stats),
      { ...explained, handle: names.only(explained.handle, asError) },
      { ...operator.route, handle: names.only(operator.route.handle, asProblem) },
    ];
    const { root, unknown } = indexPages(pages);
    const livePage = new PageRoutes('live');
    const document = names.only(livePage.document, asText);
    const files = names.only(livePage.files.handle, asText);
    const listener = new HttpListener({
      ...this.#options,
      name: this.name,
      routes: [
        { ...root, handle: forBrowsers(document, root.handle) },
        { ...livePage.files, handle: files },
        ...pages,
      ],
      unknown,
    });
    await listener.start();
    this.#running = { listener, recorders };
  }

  /** Stops running profiles, whose callers get an error, then closes the port and its connections. */
  stop(): Promise<void> {
    const running = this.#running;
    if (running !== null) {
      this.#running = null;
      this.#options.operator.stop();
      this.#stopped = close(running);
    }
    return this.#stopped;
  }
}

async function close({ listener, recorders }: Running): Promise<void> {
  await Promise.all(recorders.map(recorder => recorder.stop()));
  await listener.stop();
}
