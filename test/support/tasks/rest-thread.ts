import { workerData } from 'piscina';
import { systemClock } from '../../../src/base/clock.ts';
import type { LastingTask } from '../../../src/base/threads/inside-thread.ts';
import type { ThreadStats } from '../../../src/stats/thread-stats.ts';
import { SignalPorts, Signals } from '../../../src/tasks/model/signals.ts';
import { CallLimits } from '../../../src/tasks/rest/http/call-limits.ts';
import type { RestHandler, RestRequest, RestResponse } from '../../../src/tasks/rest/http/http.ts';
import { serveRest } from '../../../src/tasks/rest/threads/serve-rest.ts';
import { KeepingLogger } from '../keeping-logger.ts';

/** What a test gives its REST threads. */
export interface RestThreadSetup {
  /** How many threads have begun. */
  readonly begun: Int32Array<SharedArrayBuffer>;
  /** Numbers of those that are to fail at once, from 1. */
  readonly failing: readonly number[];
}

const setup = workerData as RestThreadSetup;
const number = Atomics.add(setup.begun, 0, 1) + 1;
if (setup.failing.includes(number)) throw new Error('it does not begin');

/** A REST thread that tests can bring down: the path says what is to happen. The first two have a gauge. */
export default function rest({ port }: LastingTask): Promise<void> {
  const stats = { counters: [], gauges: [['first_threads', 1]], timers: [] } as const;
  if (number <= 2) port.postMessage({ kind: 'stats', stats } satisfies ThreadStats);
  const signals = new Signals();
  const drained = Promise.withResolvers<void>();
  const ports = new SignalPorts(signals, ['taskDue', 'roomFor']);
  return serveRest(port, ports, new KeepingLogger(), async (limits, tester) => {
    const told: string[] = [];
    const counted = new CallLimits(limits, systemClock, new KeepingLogger());
    signals.listen({
      taskDue: tenant => told.push(tenant),
      roomFor: tenant => told.push(`room for ${tenant}`),
    });
    const answers: Record<string, (request: RestRequest) => Promise<string> | string> = {
      '/thread': () => String(number),
      '/echo': request => Buffer.from(request.body).toString(),
      '/take': async request => {
        await request.takeBody?.();
        return `${request.body.length} bytes`;
      },
      '/exit': () => process.exit(3),
      '/throw': () => {
        setImmediate(() => {
          throw new Error('a defect');
        });
        return new Promise(() => {});
      },
      '/loop': () => {
        for (;;);
      },
      '/block': () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        return '';
      },
      '/never': () => new Promise(() => {}),
      '/slow': () => new Promise(resolve => setTimeout(resolve, 100, 'done')),
      '/poll': async request => {
        const gone = new Promise<string>(resolve =>
          request.gone.addEventListener('abort', () => resolve('gone')),
        );
        const end = await Promise.race([gone, drained.promise.then(() => 'drained')]);
        told.push(end);
        return end;
      },
      '/limits': async ({ host: tenant }) => {
        const verdict = await limits.ask({ tenant, kind: 'read', user: 'u' }, '');
        return JSON.stringify(verdict);
      },
      '/counted': async request => {
        const user = request.headers.authorization === 'of u' ? 'u' : '';
        return JSON.stringify(await counted.count({ tenant: request.host, kind: 'read', user }, request));
      },
      '/test': async ({ host: tenant }) => {
        const test = { tenant, workerId: 'wrk', id: 'tsk', url: null, payload: null };
        return JSON.stringify(await tester.test(test).catch((failure: Error) => failure.message));
      },
      '/tell': ({ host }) => {
        signals.tell('roomFor', host, 'wrk');
        return '';
      },
      '/told': () => told.join(' '),
    };
    const handler: RestHandler = {
      handle: async (request): Promise<RestResponse> => ({
        status: 200,
        headers: {},
        // A front passes on requests of the API only.
        body: await answers[request.path.replace(/^\/api\b/, '')](request),
      }),
    };
    return {
      handler,
      listeningOn: opened => told.push(`port ${opened}`),
      storeConnected: () => told.push('store'),
      storeRefused: ({ message }) => told.push(message),
      drain: () => drained.resolve(),
      stop: async () => {},
    };
  });
}
