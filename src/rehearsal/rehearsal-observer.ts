import { CODE, type DecisionBatch, hitsOf, isLimited } from '../decision/batch.ts';
import type { BatchObserver } from '../decision/batch-observer.ts';
import { KeyTextWriter } from '../decision/hot-keys/key-text.ts';
import type { SharedRecordsReader } from '../steering/shared-records.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { RehearsalSource } from './rehearsal-channel.ts';
import { ShadowEngine, type ShadowSettings } from './shadow-engine.ts';

/**
 * Decides each batch once more with the candidate rules, after its answers were passed on, and compares the outcomes of
 * each descriptor. Costs nothing while there is no rehearsal.
 */
export class RehearsalObserver implements BatchObserver {
  readonly #settings: ShadowSettings;
  readonly #source: RehearsalSource;
  readonly #steering: SharedRecordsReader | null;
  readonly #text = new KeyTextWriter();
  /** The engine of the last rehearsal; null while there is none. */
  #engine: ShadowEngine | null = null;

  /** @param steering the steering records, which apply to candidate rules as well; null if they are disabled */
  constructor(settings: ShadowSettings, source: RehearsalSource, steering: SharedRecordsReader | null) {
    this.#settings = settings;
    this.#source = source;
    this.#steering = steering;
  }

  /** Whether there is a rehearsal. */
  get isActive(): boolean {
    return this.#source.current !== null;
  }

  observe(live: DecisionBatch): void {
    const engine = this.#present();
    if (engine === null) return;
    const { generation } = engine.rehearsal;
    generation.begin();
    try {
      engine.decide(live, this.#steering?.at(live.nowMs) ?? null);
      for (let request = 0; request < live.size; request++) {
        if (live.faults[request] === null && engine.evaluate(request)) this.#compare(live, engine, request);
      }
    } finally {
      generation.end();
      engine.reset();
    }
  }

  /** The engine of the present rehearsal. The memory of the one before is released. */
  #present(): ShadowEngine | null {
    const { current } = this.#source;
    if (current === (this.#engine?.rehearsal ?? null)) return this.#engine;
    this.#engine = current === null ? null : new ShadowEngine(current, this.#settings);
    return this.#engine;
  }

  #compare(live: DecisionBatch, engine: ShadowEngine, request: number): void {
    const { batch, rehearsal } = engine;
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    for (let row = first; row < first + requests.descriptorCount[request]; row++) {
      if (requests.isRefund[row] === 1 || engine.isLeftOut(row)) continue;
      const isRejected = decisions.code[row] === CODE.overLimit;
      const isRejectedToday = live.decisions.code[row] === CODE.overLimit;
      const limit = isLimited(decisions.kind[row]) ? decisions.limit[row] : -1;
      rehearsal.comparison.add(limit, hitsOf(batch, request, row), isRejected, isRejectedToday);
      if (isRejected !== isRejectedToday)
        this.#remember(rehearsal, batch, { request, row, limit, isRejected });
    }
  }

  #remember(
    rehearsal: Rehearsal,
    { requests }: DecisionBatch,
    change: {
      readonly request: number;
      readonly row: number;
      readonly limit: number;
      readonly isRejected: boolean;
    },
  ): void {
    const { request, row, limit, isRejected } = change;
    this.#text.writeEntries(requests, request, row);
    rehearsal.keys.add(limit, isRejected, this.#text.bytes);
  }
}
