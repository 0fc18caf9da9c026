import type { Service } from '../../../src/base/lifecycle.ts';
import { StartLimits } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../../src/tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../../src/tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../../src/tasks/scheduler/pull/pull-leases.ts';
import { TasksEngine, type TasksEngineParts } from '../../../src/tasks/scheduler/tasks-engine.ts';

/** The engine and what pull workers ask, in one thread; in a service the desk is in the threads of the interface. */
export class EngineWithDesk implements Service {
  readonly name = 'tasks';
  readonly pullDesk: PullDesk;
  readonly #engine: TasksEngine;

  /** @param maxWaiting pull calls that may wait at once */
  constructor(parts: TasksEngineParts, maxWaiting: number) {
    this.#engine = new TasksEngine(parts);
    const startLimits = new StartLimits({ ...parts, asker: parts.limitAsker });
    this.pullDesk = new PullDesk({
      ...parts,
      claims: new PullClaims({ ...parts, startLimits }),
      leases: new PullLeases(parts),
      maxWaiting,
    });
  }

  async start(): Promise<void> {
    await this.#engine.start();
    await this.pullDesk.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#engine.stop(), this.pullDesk.stop()]);
  }
}
