import { setTimeout as wait } from 'node:timers/promises';
import { ForkedChild } from '../../support/forked-child.ts';
import type { SinkAnswers, SinkTotals } from './sink.ts';

const LOOK_MS = 50;

/** The process that tasks are pushed to. */
export class PushSink {
  readonly #child = new ForkedChild<SinkAnswers>({ entry: new URL('./sink.js', import.meta.url) });
  #port = 0;

  async start(): Promise<void> {
    this.#port = await this.#child.ready<number>();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  async reset(): Promise<void> {
    await this.#child.ask('reset');
  }

  async totals(): Promise<SinkTotals> {
    return await this.#child.ask('totals');
  }

  /** Resolves when so many have come; fails when nothing came for so long. */
  async received(count: number, patienceMs: number): Promise<SinkTotals> {
    let last = { received: -1, atMs: performance.now() };
    for (;;) {
      const totals = await this.totals();
      if (totals.received >= count) return totals;
      if (totals.received !== last.received) last = { received: totals.received, atMs: performance.now() };
      else if (performance.now() - last.atMs > patienceMs) {
        throw new Error(
          `${totals.received} of ${count} tasks were pushed, and then none for ${patienceMs} ms`,
        );
      }
      await wait(LOOK_MS);
    }
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
