import type { Clock } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { DebugServer, type DebugServerOptions } from '../../../../src/transports/debug/debug-server.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { operatorApi } from '../../../support/operator-api.ts';
import { mapperOf } from '../../../support/request-mapper.ts';
import { httpEngine } from '../http/on-each-engine.ts';
import { SignallingClock } from './signalling-clock.ts';

/** The part of a tap test that releases what a test has opened. */
interface Teardown {
  teardown(release: () => unknown): void;
}

/** A debug server on a free port of the loopback address, not started. Its `stop` waits for nobody. */
export function debugServer(clock: Clock, options: Partial<DebugServerOptions> = {}): DebugServer {
  return new DebugServer({
    engine: httpEngine(),
    host: '127.0.0.1',
    port: 0,
    settings: { host: 'DEBUG_HOST', port: 'DEBUG_PORT', sharing: 'never' },
    hostNames: [],
    dumpRules: () => [],
    dumpResources: () => [],
    explain: () => Promise.reject(new Error('nothing is explained here')),
    mapper: mapperOf(),
    operator: operatorApi(),
    stats: new StatsRegistry(),
    drainMs: 0,
    clock,
    log: new KeepingLogger(),
    ...options,
  });
}

/** The same, started; it ends with its test. */
export async function startedDebugServer(
  t: Teardown,
  clock: Clock,
  options: Partial<DebugServerOptions> = {},
): Promise<DebugServer> {
  const server = debugServer(clock, options);
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

/** Asks the operator's API of this server. */
export function askingOperator({ port }: DebugServer) {
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: text === '' ? null : JSON.parse(text),
    };
  };
}

/** A started debug server and the clock that its profiles wait on. */
export interface ProfilingSite {
  readonly server: DebugServer;
  readonly clock: SignallingClock;
  get(path: string): Promise<Response>;
  /** Asks for a profile of `path`, does `work` while it is taken, and lets its time pass. */
  profiled(path: string, work: () => void): Promise<Response>;
}

export async function profilingSite(t: Teardown): Promise<ProfilingSite> {
  const clock = new SignallingClock();
  const server = await startedDebugServer(t, clock);
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${server.port}${path}`);
  const profiled = async (path: string, work: () => void): Promise<Response> => {
    const started = clock.started();
    const response = get(path);
    await started;
    work();
    clock.advance(clock.pendingDelaysMs[0]);
    return response;
  };
  return { server, clock, get, profiled };
}

/** Keeps the CPU busy for long enough to be seen: V8 looks about once a millisecond. */
export function burnCpuForTheProfile(): void {
  const end = performance.now() + 100;
  while (performance.now() < end) Math.hypot(end, 1);
}

const kept: object[] = [];

/** Takes a few megabytes and holds on to them. */
export function takeMemoryForTheProfile(): void {
  for (let i = 0; i < 100_000; i++) kept.push({ i, text: `number ${i}` });
}
