import type { Transferable } from 'node:worker_threads';
import type { Logger } from '../../../src/base/logger.ts';
import type { LastingThread } from '../../../src/base/threads/lasting-thread.ts';
import type { Problem } from '../../../src/tasks/rest/checks/problem.ts';
import { type PlaceBounds, Places } from '../../../src/tasks/rest/http/bounded.ts';
import type {
  HeldBody,
  RenderedResponse,
  RestCall,
  RestCalls,
  RestHandler,
  RestHead,
  RestReply,
} from '../../../src/tasks/rest/http/http.ts';
import { problemResponse } from '../../../src/tasks/rest/http/problem-answer.ts';
import { EarlyLimits } from '../../../src/tasks/rest/threads/early-limits.ts';
import { HandledCalls } from '../../../src/tasks/rest/threads/handled-calls.ts';
import type {
  ToRestThread,
  TurnFromRestThread,
  TurnToRestThread,
} from '../../../src/tasks/rest/threads/messages.ts';
import { ThreadCalls } from '../../../src/tasks/rest/threads/thread-calls.ts';

type Out = Partial<Pick<TurnFromRestThread, 'admitted' | 'waiting' | 'answers'>>;

const UNLIMITED = { active: false, ask: async () => ({ allowed: true, nearest: null }) };

/** Both sides of the way to a REST thread in this one: messages are cloned as between threads. */
export class JoinedCalls implements RestCalls {
  readonly places: Places;
  readonly calls: ThreadCalls;
  /** Every message to the handler's side. */
  readonly turns: TurnToRestThread[] = [];

  constructor(
    handler: RestHandler,
    log: Logger,
    bounds: PlaceBounds = { calls: 1_000, bytes: 64 * 1024 * 1024 },
  ) {
    this.places = new Places(bounds);
    const refuse = (reply: RestReply, head: RestHead, problem: Problem): void =>
      reply.answered(response(head, problem));
    this.calls = new ThreadCalls(this.places, new EarlyLimits(UNLIMITED), refuse);
    this.attach(handler, log);
  }

  /** A thread takes calls, perhaps in the place of another. */
  attach(handler: RestHandler, log: Logger): void {
    const tell = ({ admitted = [], waiting = [], answers = [] }: Out): void =>
      this.calls.heard(structuredClone({ kind: 'turn', asks: [], tests: [], admitted, waiting, answers }));
    const handled = new HandledCalls(
      handler,
      {
        admitted: call => tell({ admitted: [call] }),
        waits: call => tell({ waiting: [call] }),
        answered: answer => tell({ answers: [answer] }),
      },
      log,
    );
    const post = (turn: ToRestThread, transfer: readonly Transferable[] = []): void => {
      const cloned = structuredClone(turn, { transfer: transfer as ArrayBuffer[] }) as TurnToRestThread;
      this.turns.push(cloned);
      handled.heard(cloned);
    };
    this.calls.attach({ place: 0, threadId: 1, state: 'ready', post } satisfies LastingThread<ToRestThread>);
  }

  begin(head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall {
    return this.calls.begin(head.host, head, body, reply);
  }

  refused(head: RestHead, problem: Problem): RenderedResponse {
    return response(head, problem);
  }
}

function response(head: RestHead, problem: Problem): RenderedResponse {
  return problemResponse(problem, head.headers['x-request-id'] ?? 'none');
}
