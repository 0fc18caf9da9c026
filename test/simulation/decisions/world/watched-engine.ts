import type { DecisionBatch } from '../../../../src/decision/batch.ts';
import { Engine } from '../../../../src/decision/engine.ts';
import type { RuleGeneration } from '../../../../src/decision/statistics/rule-statistics.ts';
import type { Round } from './round.ts';

/** What an engine tells about its batches. */
export interface EngineWatcher {
  readonly isAlive: boolean;
  begin(batch: DecisionBatch): Round;
  /** The engine has done what it can do at once. */
  ranOn(round: Round): void;
  end(round: Round): void;
}

/** The engine of the product, and somebody who sees which requests it decides together. */
export class WatchedEngine extends Engine {
  readonly #watcher: EngineWatcher;

  constructor(parts: ConstructorParameters<typeof Engine>[0], watcher: EngineWatcher) {
    super(parts);
    this.#watcher = watcher;
  }

  override run(batch: DecisionBatch, generation: RuleGeneration | null): void | Promise<void> {
    const watcher = this.#watcher;
    if (!watcher.isAlive) return;
    const round = watcher.begin(batch);
    const running = super.run(batch, generation);
    watcher.ranOn(round);
    if (running === undefined) return watcher.end(round);
    return running.then(() => watcher.end(round));
  }
}
