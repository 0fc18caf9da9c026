import type { Service } from '../../../src/base/lifecycle.ts';
import { PullDesk } from '../../../src/tasks/scheduler/pull/pull-desk.ts';
import { TasksEngine, type TasksEngineParts } from '../../../src/tasks/scheduler/tasks-engine.ts';

/** The engine and what pull workers ask, in one thread; in a service the desk is in the threads of the interface. */
export class EngineWithDesk implements Service {
  readonly name = 'tasks';
  readonly pullDesk: PullDesk;
  readonly #engine: TasksEngine;

  /** @param maxWaiting pull calls that may wait at once */
  constructor(parts: TasksEngineParts, maxWaiting: number) {
    this.#engine = new TasksEngine(parts);
    const { limits } = parts.options;
    this.pullDesk = new PullDesk({ ...parts, limits, maxWaiting });
  }

  async start(): Promise<void> {
    await this.#engine.start();
    await this.pullDesk.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#engine.stop(), this.pullDesk.stop()]);
  }
}
