import type { MessagePort } from 'node:worker_threads';
import type { Logger } from '../../../base/logger.ts';
import { acceptMessages } from '../../../base/threads/inside-thread.ts';
import { Questions } from '../../../base/threads/questions.ts';
import type { SignalPorts } from '../../model/signals.ts';
import { AskedStartLimits, type LimitAsker } from '../../scheduler/attempts/start-limits.ts';
import type { WorkerTestAnswer, WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { SentFault } from '../../store/trouble.ts';
import type { RestHandler } from '../http/http.ts';
import type { ApiLimits, ApiLimitVerdict } from '../http/parts.ts';
import { HandledCalls, type HandledCallsOut } from './handled-calls.ts';
import {
  answerMemory,
  type Filling,
  Outbox,
  type ToRestThread,
  type TurnFromRestThread,
} from './messages.ts';

/** Handles the calls of a REST thread. */
interface ThreadService {
  readonly handler: RestHandler;
  listeningOn(port: number): void;
  /** Operations go over this port from now on; see `PortOperator.connect`. */
  storeConnected(port: MessagePort): void;
  /** The store could not be opened, so operations that wait for it fail with this fault. */
  storeRefused(fault: SentFault): void;
  /** Stops handing out leases, and answers the calls that wait for one. */
  drain(): void;
  /** Releases all resources. All calls have been answered before. */
  stop(): Promise<void>;
}

/**
 * Serves messages from the port until `stop` arrives.
 *
 * @param signals connects the signals of this thread with those of others
 * @param open creates the service; it is called before the thread accepts calls
 * @returns resolves when all resources are released
 */
export async function serveRest(
  port: MessagePort,
  signals: SignalPorts,
  logger: Logger,
  open: (limits: ApiLimits, tester: WorkerTester, limitAsker: LimitAsker) => Promise<ThreadService>,
): Promise<void> {
  const outbox = new Outbox(emptyTurn, turn => {
    // Signals are sent first: after its response, a caller may read the change from another thread immediately.
    signals.flush();
    port.postMessage(turn, answerMemory(turn.answers));
  });
  const verdicts = new Questions<ApiLimitVerdict>();
  const tests = new Questions<WorkerTestAnswer>();
  // Most calls have been checked before they arrive here; see `EarlyLimits`.
  const limits: ApiLimits = {
    ask: (call, authorization) =>
      verdicts.ask(number => outbox.turn.asks.push([number, call, authorization])),
  };
  const tester: WorkerTester = {
    test: test => tests.ask(number => outbox.turn.tests.push([number, test])),
  };
  // Start limits are asked in separate messages, because most turns have none.
  const startLimits = new AskedStartLimits(message => port.postMessage(message));
  const service = await open(limits, tester, startLimits);
  const out: HandledCallsOut = {
    admitted: call => outbox.turn.admitted.push(call),
    waits: call => outbox.turn.waiting.push(call),
    answered: answer => outbox.turn.answers.push(answer),
  };
  const calls = new HandledCalls(service.handler, out, logger);
  const stopped = Promise.withResolvers<void>();
  acceptMessages<ToRestThread>(port, message => {
    switch (message.kind) {
      case 'turn':
        // Before the calls, because the signals invalidate cached documents that the calls may need.
        signals.receive();
        for (const [number, verdict] of message.verdicts) verdicts.answered(number, verdict);
        for (const [number, answer] of message.tested) tests.answered(number, answer);
        calls.heard(message);
        break;
      case 'limit_answered':
        startLimits.heard(message);
        break;
      case 'listening':
        service.listeningOn(message.port);
        break;
      case 'store':
        service.storeConnected(message.port);
        break;
      case 'store_refused':
        service.storeRefused(message.fault);
        break;
      case 'signals':
        signals.connect(message.port);
        break;
      case 'drain':
        service.drain();
        break;
      case 'stop':
        stopped.resolve();
    }
  });
  // The other side has closed the port, so answers could not be delivered.
  port.once('close', stopped.resolve);
  await stopped.promise;
  service.drain();
  await calls.finished();
  outbox.flush();
  await service.stop();
  signals.flush();
  signals.close();
  port.close();
}

function emptyTurn(): Filling<TurnFromRestThread> {
  return { kind: 'turn', asks: [], tests: [], admitted: [], waiting: [], answers: [] };
}
