import { MessageChannel } from 'node:worker_threads';
import type { PlaceBounds } from '../../../src/tasks/rest/http/bounded.ts';
import type { RestCalls } from '../../../src/tasks/rest/http/http.ts';
import { CallRelay } from '../../../src/tasks/rest/threads/call-relay.ts';
import type { TurnFromPrimary, TurnToPrimary } from '../../../src/tasks/rest/threads/relay-messages.ts';
import { RelayedCalls } from '../../../src/tasks/rest/threads/relayed-calls.ts';

interface Teardown {
  teardown(release: () => unknown): void;
}

/** Both sides of the way from a serving thread to the primary one, in this thread, with a channel between them. */
export function relayed(t: Teardown, target: RestCalls, bounds?: PlaceBounds) {
  const { port1, port2 } = new MessageChannel();
  /** Every message to the primary thread. */
  const turns: TurnToPrimary[] = [];
  /** The statuses that the target has counted. */
  const refused: number[] = [];
  const calls = new RelayedCalls(
    ({ host }) => host,
    () => 'none',
    (turn, transfer) => port1.postMessage(turn, transfer),
    bounds,
  );
  const relay = new CallRelay(
    {
      begin: (head, body, reply) => target.begin(head, body, reply),
      refused: (head, problem) => target.refused(head, problem),
      countRefusal: status => refused.push(status),
    },
    (turn, transfer) => port2.postMessage(turn, transfer),
  );
  port1.on('message', (turn: TurnFromPrimary) => calls.heard(turn));
  port2.on('message', (turn: TurnToPrimary) => {
    turns.push(turn);
    relay.heard(turn);
  });
  port1.once('close', () => calls.lost());
  port2.once('close', () => relay.detach());
  /** Ends the serving thread, as far as the primary one can see. */
  const close = (): void => port1.close();
  t.teardown(close);
  return { calls, turns, refused, close };
}
