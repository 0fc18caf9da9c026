import type { Clock } from '../../base/clock.ts';
import {
  acceptMessages,
  type LastingTask,
  type StopThread,
  type ThreadIsReady,
} from '../../base/threads/lasting-task.ts';
import type { DeliveryOutcome, DeliveryRequest } from './delivery.ts';
import type { Resolve } from './host-addresses.ts';
import { type DeliverySetup, LocalDeliveries } from './local-deliveries.ts';

/** Attempts are numbered by the thread that asks for them. Secrets are part of these messages alone. */
export type MessageToThread =
  | { readonly kind: 'deliver'; readonly requests: readonly (readonly [number: number, DeliveryRequest])[] }
  | { readonly kind: 'abort'; readonly tenant: string; readonly taskId: string }
  | StopThread;

export type MessageFromThread =
  | ThreadIsReady
  | { readonly kind: 'done'; readonly outcomes: readonly (readonly [number: number, DeliveryOutcome])[] };

/**
 * Makes the attempts that come through the port, and tells their outcomes: those of one turn of the event loop in one
 * message. A message for each takes a quarter more processor time (`bench/part/deliveries.ts`).
 *
 * @returns settles when it was told to stop and nothing is left
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
  // The other side is gone: nobody would hear of an outcome.
  port.once('close', stopped.resolve);
  try {
    await stopped.promise;
    // What was ended is told in the turn after.
    await new Promise(setImmediate);
    tell();
  } finally {
    await deliveries.stop();
    port.close();
  }
}
