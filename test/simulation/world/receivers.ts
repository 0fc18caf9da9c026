import type { Deliveries, DeliveryOutcome, DeliveryRequest } from '../../../src/tasks/delivery/delivery.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { deedOf } from '../steps/plan.ts';
import type { SimulatedTime } from './simulated-time.ts';
import type { Troubles } from './troubles.ts';

/** A request that has reached a receiver. */
export interface Arrival {
  readonly tenant: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly atMs: number;
  /** The same by the clock of the store. */
  readonly storeMs: number;
  readonly process: string;
  /** The signing secrets and the confidential headers of the request. */
  readonly signing: readonly string[];
  readonly secretHeaders: Readonly<Record<string, string>>;
  /** What it answered; null while it has not. */
  status: number | null;
  result: string | null;
  retryAfterMs: number | null;
}

interface ReceiverParts {
  readonly time: SimulatedTime;
  readonly troubles: Troubles;
  readonly random: SeededRandom;
  readonly delayMs: number;
  /** The time of the store. */
  readonly storeMs: () => number;
}

interface DeliveringProcess {
  readonly name: string;
  readonly isAlive: boolean;
}

/** The receivers of all push workers. They do what the payload of the task says. */
export class Receivers {
  readonly #parts: ReceiverParts;
  readonly arrivals: Arrival[] = [];
  readonly #succeeded = new Set<string>();
  readonly #contactsOf = new Map<string, number>();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** What pushes tasks in a process. */
  deliveriesOf(process: DeliveringProcess, capacity: number): Deliveries {
    return new SimulatedDeliveries(this, this.#parts, process, capacity);
  }

  /** A request arrives. `answer` is called with a status, unless there is none. */
  arrived(request: DeliveryRequest, process: string, answer: (arrival: Arrival) => void): void {
    const { time, troubles } = this.#parts;
    const { tenant, task, worker, payload, signing, secretHeaders } = request;
    const { id: taskId, attempt } = task;
    const arrival: Arrival = {
      ...{ tenant, taskId, attempt, process, signing, secretHeaders },
      atMs: time.nowMs(),
      storeMs: this.#parts.storeMs(),
      status: null,
      result: null,
      retryAfterMs: null,
    };
    this.arrivals.push(arrival);
    const trouble = troubles.receiverOf(tenant, worker.name);
    const deed = trouble === null ? deedOf(payload, this.#contacts(request)) : { name: trouble, ms: 0 };
    const status = STATUSES[deed.name];
    if (status === undefined) return;
    time.after(deed.ms === 0 || deed.name === 'wait' ? REFUSAL_MS : deed.ms, () => {
      arrival.status = status;
      if (deed.name === 'wait') arrival.retryAfterMs = deed.ms * 1_000;
      if (status === 200) {
        arrival.result = JSON.stringify({ of: taskId, attempt });
        this.#succeeded.add(`${tenant} ${taskId} ${attempt}`);
      }
      answer(arrival);
    });
  }

  /** Whether it has answered this attempt with success. */
  succeeded(tenant: string, taskId: string, attempt: number): boolean {
    return this.#succeeded.has(`${tenant} ${taskId} ${attempt}`);
  }

  /** Somebody connects. @returns false if nothing listens */
  listens(request: DeliveryRequest): boolean {
    const { tenant, task, worker, payload } = request;
    const name = `${tenant} ${task.id}`;
    this.#contactsOf.set(name, this.#contacts(request) + 1);
    const trouble = this.#parts.troubles.receiverOf(tenant, worker.name);
    if (trouble !== null) return trouble !== 'refuses';
    return deedOf(payload, this.#contacts(request)).name !== 'refuse';
  }

  /** How often somebody has tried to send the task. */
  #contacts({ tenant, task }: DeliveryRequest): number {
    return this.#contactsOf.get(`${tenant} ${task.id}`) ?? 0;
  }
}

/** How long an answer takes that is no result. */
const REFUSAL_MS = 150;
const STATUSES: Readonly<Record<string, number>> = {
  ok: 200,
  fail: 500,
  fails: 500,
  wait: 429,
  gone: 410,
  fatal: 489,
};

interface RunningDelivery {
  readonly request: DeliveryRequest;
  readonly end: (outcome: Partial<DeliveryOutcome> & Pick<DeliveryOutcome, 'kind'>) => void;
}

class SimulatedDeliveries implements Deliveries {
  readonly capacity: number;
  readonly #receivers: Receivers;
  readonly #parts: ReceiverParts;
  readonly #process: DeliveringProcess;
  readonly #running = new Set<RunningDelivery>();

  constructor(receivers: Receivers, parts: ReceiverParts, process: DeliveringProcess, capacity: number) {
    this.#receivers = receivers;
    this.#parts = parts;
    this.#process = process;
    this.capacity = capacity;
  }

  get free(): number {
    return this.capacity - this.#running.size;
  }

  deliver(request: DeliveryRequest): Promise<DeliveryOutcome> {
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome>();
    if (!this.#process.isAlive) return promise;
    const { time } = this.#parts;
    if (this.free === 0) throw new Error('more deliveries than there is room for');
    const beganMs = time.nowMs();
    const end: RunningDelivery['end'] = outcome => {
      if (!this.#running.delete(running)) return;
      timeout.cancel();
      if (this.#process.isAlive) resolve({ ...NO_ANSWER, ...outcome, durationMs: time.nowMs() - beganMs });
    };
    const running = { request, end };
    this.#running.add(running);
    const timeout = time.after(request.task.timeoutMs, () => {
      end({ kind: 'timed_out', error: { code: 'timeout', message: 'no answer in time' } });
    });
    time.after(this.#wayMs(), () => {
      if (!this.#receivers.listens(request)) {
        end({ kind: 'failed', error: { code: 'connect_refused', message: 'nothing listens' } });
        return;
      }
      this.#receivers.arrived(request, this.#process.name, arrival => {
        time.after(this.#wayMs(), () => end(outcomeOf(arrival)));
      });
    });
    return promise;
  }

  abort(tenant: string, taskId: string): void {
    for (const { request, end } of [...this.#running]) {
      if (request.tenant === tenant && request.task.id === taskId) end({ kind: 'aborted' });
    }
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    for (const { end } of [...this.#running]) end({ kind: 'aborted' });
  }

  #wayMs(): number {
    return this.#parts.random.below(this.#parts.delayMs + 1);
  }
}

const NO_ANSWER: DeliveryOutcome = {
  kind: 'failed',
  status: 0,
  durationMs: 0,
  http: null,
  result: null,
  retryAfterMs: null,
  noRetry: false,
  error: null,
};

function outcomeOf({ status, result, retryAfterMs }: Arrival): DeliveryOutcome {
  const code = status ?? 0;
  const http = { status: code, durationMs: 1, response: result ?? '', truncated: false };
  const error = code < 300 ? null : { code: `http_${code}`, message: `the worker answered ${code}` };
  return { ...NO_ANSWER, kind: 'answered', status: code, http, result, retryAfterMs, error };
}
