import { isMainThread, parentPort, threadId, workerData } from 'node:worker_threads';
import { ThreadHttp } from '../../../src/app/serving/thread-http.ts';
import type { TasksConnection } from '../../../src/app/tasks/tasks-connection.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Health, type HealthComponents } from '../../../src/base/health.ts';
import { Bound, type BoundSeat } from '../../../src/base/threads/shared-bound.ts';
import type { DecisionReply } from '../../../src/decision/decider.ts';
import type { Settings } from '../../../src/settings/table.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { KeepingLogger } from '../keeping-logger.ts';

/** What a test gives a thread with an HTTP port. */
export interface HttpThreadSetup {
  readonly settings: Settings;
  readonly port: number;
  readonly threads: number;
  /** The connections of all threads; by default many. */
  readonly connections?: BoundSeat;
  readonly tasks: TasksConnection | null;
}

export type ToHttpThread =
  | { readonly kind: 'health'; readonly components: HealthComponents }
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' };

/** A thread with an HTTP port, whose decisions are its number. It ends when it has stopped. */
async function serve({ settings, port, threads, connections, tasks }: HttpThreadSetup): Promise<void> {
  const health = new Health();
  const decisions = {
    settings,
    decider: {
      decide: (_request: unknown, _format: unknown, reply: DecisionReply) =>
        reply.answered(Buffer.from(`${threadId}`), false),
    },
    rules: () => null,
    quotas: null,
    tracing: null,
    health,
    stats: new StatsRegistry(),
    clock: systemClock,
    logger: new KeepingLogger(),
  };
  const bound = connections === undefined ? Bound.ofOneThread(1_000) : Bound.at(connections);
  const http = new ThreadHttp(decisions, tasks, { all: () => [] }, { port, threads, connections: bound });
  await http.start();
  parentPort?.postMessage(http.port);
  parentPort?.on('message', (message: ToHttpThread) => {
    if (message.kind === 'health') health.mirror(message.components);
    else if (message.kind === 'drain') http.drain();
    else void http.stop().then(() => parentPort?.close());
  });
}

if (!isMainThread) await serve(workerData as HttpThreadSetup);
