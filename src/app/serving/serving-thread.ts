import { threadId } from 'node:worker_threads';
import { systemClock, within } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { Health } from '../../base/health.ts';
import { busyShare, hearMessages, type LastingTask, reportReady } from '../../base/threads/inside-thread.ts';
import { threadAnswer } from '../../base/threads/questions.ts';
import { Bound } from '../../base/threads/shared-bound.ts';
import { RulesSubscriber } from '../../decision/generations/rules-subscriber.ts';
import type { OverLimitCache } from '../../decision/over-limit-cache.ts';
import { OverLimitDeltas } from '../../decision/pool/over-limit-deltas.ts';
import type { ThreadMessage } from '../../decision/pool/thread-messages.ts';
import { ThreadNames } from '../../decision/statistics/thread-names.ts';
import { type DeskQuestion, type DeskView, lookAtDesk } from '../../quota/desk-view.ts';
import type { QuotaDesk } from '../../quota/quota-desk.ts';
import { createBatcher, decided } from '../decision/create-batcher.ts';
import { followRehearsals, threadObservers } from '../decision/deciding.ts';
import { openOverLimitCache } from '../decision/engine-settings.ts';
import { createQuotaDesk } from '../decision/quota-desk.ts';
import { deciderOfCallers } from '../decision/rejected-refunds.ts';
import { IdleCollector, ownMemory } from '../idle-collector.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import { openThreadStore } from '../stores/thread-store.ts';
import { insideThread } from '../surroundings.ts';
import { loadTracing } from '../tracing/load-tracing.ts';
import type { BeginServing, FromServingThread, ServingThreadSetup, ToServingThread } from './messages.ts';
import { FiguresWriter, ThreadFigures } from './thread-figures.ts';
import { ThreadPorts } from './thread-ports.ts';

/** How long the start of a thread waits for the store, which the primary thread has already reached. */
const STORE_MS = 2_000;
/** How long a thread waits that replaces another one. */
const REPLACEMENT_STORE_MS = 200;

/**
 * Serves connections in this thread, with an engine and a store of its own, until `stop` arrives. The rest of the
 * process is reached over the port only.
 *
 * @returns resolves when the ports and the store are closed
 */
export async function serveConnections(task: LastingTask, setup: ServingThreadSetup): Promise<void> {
  const { port } = task;
  const { settings, threads } = setup;
  const names = new ThreadNames();
  const overLimit = openOverLimitCache(settings, systemClock, setup.store);
  const counted = countedBeside(names, overLimit);
  const thread = insideThread<FromServingThread>('serving', settings, task, counted);
  const { stats, clock, post, reporter } = thread;
  const begun = Promise.withResolvers<BeginServing>();
  const stopped = Promise.withResolvers<void>();
  let heard: (message: ToServingThread) => void = () => {};
  hearMessages<ToServingThread>(port, message => {
    if (message.kind === 'begin') begun.resolve(message);
    else if (message.kind === 'stop') stopped.resolve();
    else heard(message);
  });
  port.once('close', stopped.resolve);
  post({ kind: 'hello' });
  const { place, rules, bounds, storeLink: link, waitsForStore, tasks } = await begun.promise;
  const store = await openThreadStore(thread, setup.store, { count: threads, thread: { place, link } });
  await startStore(store, waitsForStore);
  const openTracing = await loadTracing(settings, thread);
  const tracing = openTracing?.(stats) ?? null;
  const generations = new RulesSubscriber(rules);
  const rehearsal = followRehearsals(thread);
  const batcher = createBatcher(thread, setup, {
    store,
    named: names,
    overLimit,
    observers: await threadObservers(setup, thread, rehearsal),
    pool: null,
    rules: generations,
    sharedBounds: { requests: Bound.at(bounds.requests), bytes: Bound.at(bounds.bytes) },
  });
  const health = new Health();
  const loads = ThreadFigures.attach(setup.figures);
  const quotas = createQuotaDesk(thread, setup, {
    store,
    named: names,
    rules: generations,
    rehearsal,
  });
  const served = {
    ...thread,
    decider: deciderOfCallers(settings, stats, batcher),
    rules: () => generations.current()?.rules ?? null,
    quotas,
    tracing,
    health,
  };
  const ports = new ThreadPorts(served, { threads, bounds, loads, tasks });
  const figures = new FiguresWriter(loads, place, clock, busyShare(), () => ({
    connections: ports.connections,
    decisions: batcher.decided,
  }));
  heard = message => {
    if (message.kind === 'health') health.mirror(message.components);
    else if (message.kind === 'report') {
      figures.write();
      reporter.requested(() => post({ kind: 'answered', number: message.number }));
    } else if (message.kind === 'quotas') {
      const { number, question } = message;
      void threadAnswer(() => lookAt(quotas, question, clock.nowMs())).then(answer =>
        post({ kind: 'quotas', number, answer }),
      );
    } else portsHeard(ports, message, post);
  };
  const working = [reporter, figures, new IdleCollector(clock, ownMemory())];
  for (const each of working) each.start();
  reportReady(port);
  await stopped.promise;
  await ports.close();
  await decided(batcher, quotas, ports.closingMs, thread);
  for (const each of working) each.stop();
  await store.stop();
  await tracing?.stop();
  port.close();
}

/** Returns a function that makes messages about what the thread has counted in other places than its statistics. */
export function countedBeside(
  names: ThreadNames,
  overLimit: OverLimitCache | null,
): () => Iterable<ThreadMessage> {
  const deltas = overLimit === null ? null : new OverLimitDeltas(overLimit, threadId);
  return function* () {
    for (const named of names.take()) yield { kind: 'named', named };
    const delta = deltas?.take() ?? null;
    if (delta !== null) yield { kind: 'over_limit', overLimit: delta };
  };
}

async function lookAt(desk: QuotaDesk | null, question: DeskQuestion, nowMs: number): Promise<DeskView> {
  if (desk === null) throw new Error('the counter store cannot grant quotas');
  return await lookAtDesk(desk, question, nowMs);
}

/** Does what a message asks of the ports. */
function portsHeard(
  ports: ThreadPorts,
  message: ToServingThread,
  post: (message: FromServingThread) => void,
): void {
  const moved = (connections: number): void => {
    if (connections > 0) post({ kind: 'moved', connections });
  };
  switch (message.kind) {
    case 'tls':
      ports.useTls(message.material);
      break;
    case 'listen':
      ports.open(message.ports).then(
        opened => post({ kind: 'listening', ports: opened }),
        failure => post({ kind: 'not_listening', message: asError(failure).message }),
      );
      break;
    case 'move':
      moved(ports.moveOne(message.mostShare) ? 1 : 0);
      break;
    case 'spread':
      moved(ports.moveSome(message.connections));
      break;
    case 'close_grpc_port':
      ports.closeGrpcPort();
      post({ kind: 'answered', number: message.number });
      break;
    case 'drain':
      void ports.close().then(() => post({ kind: 'answered', number: message.number }));
  }
}

/**
 * Connects to the store. A thread that replaces another one serves even while the store is unavailable: its requests
 * fail until the store is back, as those of the other threads.
 */
async function startStore(store: OpenedStore, waits: boolean): Promise<void> {
  // The start fails only if the thread is stopped.
  const started = store.start().catch(() => {});
  await within(systemClock, waits ? STORE_MS : REPLACEMENT_STORE_MS, started);
}
