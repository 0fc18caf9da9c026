import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { CallRelay, type RelayTarget } from '../../tasks/rest/threads/call-relay.ts';
import type { TurnFromPrimary, TurnToPrimary } from '../../tasks/rest/threads/relay-messages.ts';
import {
  checkReadiness,
  type ReadinessChecks,
  type ReadinessOutcomes,
} from '../../transports/http/routes/health-routes.ts';

/** Connects the HTTP port of a serving thread with the task service. The port has to be transferred. */
export interface TasksConnection {
  readonly port: MessagePort;
  /** Names of the readiness checks. */
  readonly checks: readonly string[];
}

export type ToTasks = TurnToPrimary | { readonly kind: 'check_readiness' };
export type FromTasks =
  | TurnFromPrimary
  | { readonly kind: 'readiness'; readonly outcomes: ReadinessOutcomes };

/**
 * Opens a connection in the primary thread. It closes when the serving thread closes its port or ends, and then the
 * calls of that thread end as if their callers had disconnected.
 */
export function connectTasks(calls: RelayTarget, checks: ReadinessChecks, clock: Clock): TasksConnection {
  const { port1: port, port2 } = new MessageChannel();
  const relay = new CallRelay(calls, (turn, transfer) =>
    port.postMessage(turn satisfies FromTasks, transfer),
  );
  const check = async (): Promise<void> => {
    const outcomes = await checkReadiness(checks, clock);
    port.postMessage({ kind: 'readiness', outcomes } satisfies FromTasks);
  };
  port.on('message', (message: ToTasks) => {
    if (message.kind === 'turn') relay.heard(message);
    else void check();
  });
  port.once('close', () => relay.detach());
  return { port: port2, checks: Object.keys(checks) };
}
