import type { Service } from '../../../src/base/lifecycle.ts';
import { StartLimits } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../../src/tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../../src/tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../../src/tasks/scheduler/pull/pull-leases.ts';
import { type EngineThread, TasksEngine } from '../../../src/tasks/scheduler/tasks-engine.ts';

/** The engine and what pull workers ask, in one thread; in a service the desk is in the threads of the interface. */
export class EngineWithDesk implements Service {
  readonly name = 'tasks';
  readonly pullDesk: PullDesk;
  readonly #engine: TasksEngine;

  /** @param maxWaiting pull calls that may wait at once */
  constructor(thread: EngineThread, maxWaiting: number) {
    this.#engine = new TasksEngine(thread);
    const claims = new PullClaims(thread, new StartLimits(thread, thread.limitAsker));
    this.pullDesk = new PullDesk(thread, claims, new PullLeases(thread), maxWaiting);
  }

  async start(): Promise<void> {
    await this.#engine.start();
    await this.pullDesk.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#engine.stop(), this.pullDesk.stop()]);
  }
}
