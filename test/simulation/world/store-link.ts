import { Fault } from '../../../src/base/fault.ts';
import type {
  AnswerOf,
  ArgumentsOf,
  Operation,
  OperationName,
  Operator,
} from '../../../src/tasks/store/operations.ts';
import { StoreFault } from '../../../src/tasks/store/trouble.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { SimulatedTime } from './simulated-time.ts';
import type { StoreUnderTest } from './store-under-test.ts';
import type { Troubles } from './troubles.ts';

/** What lies between a process and the store. */
export interface LinkParts {
  readonly time: SimulatedTime;
  readonly store: StoreUnderTest;
  readonly troubles: Troubles;
  readonly random: SeededRandom;
  /** How long each way takes at most. */
  readonly delayMs: number;
}

/** The process at this end. */
export interface LinkedProcess {
  readonly number: number;
  readonly name: string;
  readonly isAlive: boolean;
  die(): void;
}

/** One operation in some takes this much longer than usual. */
const SLOW_ONE_IN = 40;
const SLOW_TIMES = 20;

/**
 * The way from a process to the store and back, which takes time and can lose what is sent. Nothing that a process has
 * sent can be taken back when it dies, and it hears of nothing any more.
 */
export class StoreLink implements Operator {
  readonly #parts: LinkParts;
  readonly #process: LinkedProcess;

  constructor(parts: LinkParts, process: LinkedProcess) {
    this.#parts = parts;
    this.#process = process;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>> {
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<N>>();
    const process = this.#process;
    if (!process.isAlive) return promise;
    const { troubles } = this.#parts;
    const operation = { name, args } as Operation;
    const fate = troubles.fateOf(process.number, operation);
    const answer = (outcome: Outcome) => {
      if (outcome.ok) resolve(outcome.answer as AnswerOf<N>);
      else reject(outcome.fault);
    };
    const fault = (text: string) => ({ ok: false, fault: new StoreFault('no_answer', text) }) as const;
    switch (fate.kind) {
      case 'none':
        this.#there(operation, 0, answer);
        break;
      case 'late':
        this.#there(operation, fate.ms, answer);
        break;
      case 'refused':
        this.#back(0, () =>
          answer({ ok: false, fault: new Fault('overloaded', 'too many operations wait') }),
        );
        break;
      case 'lost':
        this.#back(fate.ms, () => answer(fault('the store is away')));
        break;
      case 'unanswered':
        this.#there(operation, 0, () => {});
        this.#back(fate.ms, () => answer(fault('the answer was lost')));
        break;
      case 'afterwards':
        this.#back(0, () => answer(fault('the connection was lost')));
        this.#there(operation, fate.ms, () => {});
        break;
      case 'dies_after':
        this.#there(operation, 0, () => {});
        process.die();
        break;
      case 'dies_before':
        process.die();
    }
    return promise;
  }

  /** The operation reaches the store after this delay and that of the way; `answered` is called with its answer. */
  #there(operation: Operation, delayMs: number, answered: (outcome: Outcome) => void): void {
    const { time, store, troubles } = this.#parts;
    const askedMs = time.nowMs();
    const isLate = delayMs > 0;
    if (isLate) troubles.underway++;
    time.after(delayMs + this.#wayMs(), () => {
      if (isLate) troubles.underway--;
      store.run(operation, this.#process.name, askedMs).then(
        answer => this.#back(0, () => answered({ ok: true, answer })),
        (fault: unknown) => this.#back(0, () => answered({ ok: false, fault })),
      );
    });
  }

  #back(delayMs: number, arrived: () => void): void {
    this.#parts.time.after(delayMs + this.#wayMs(), () => {
      if (this.#process.isAlive) arrived();
    });
  }

  #wayMs(): number {
    const { random, delayMs } = this.#parts;
    if (delayMs === 0) return 0;
    const ms = random.below(delayMs + 1);
    return random.below(SLOW_ONE_IN) === 0 ? ms * SLOW_TIMES : ms;
  }
}

type Outcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly fault: unknown };
