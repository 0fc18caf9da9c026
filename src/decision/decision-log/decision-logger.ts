import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Counter } from '../../stats/registry.ts';
import { type DecisionBatch, endOfLimits, firstLimit, isLimited, KIND } from '../batch.ts';
import type { BatchObserver } from '../batch-observer.ts';
import type { GlobalModes } from '../overall-code.ts';
import type { RuleGeneration } from '../statistics/rule-statistics.ts';
import { type LoggedLimit, logRecord } from './log-record.ts';
import type { LogTexts } from './log-texts.ts';
import type { SharedRate } from './shared-rate.ts';

interface DecisionLoggerParts {
  /** Of this number of allowed requests, one is logged; 0 for none. */
  readonly sample: number;
  readonly rate: SharedRate;
  readonly texts: LogTexts;
  readonly modes: GlobalModes;
  /** Counts the records that were dropped because of the rate. */
  readonly dropped: Counter;
  /** Receives the lines of a batch, each with its line feed. Must not block. */
  readonly write: (lines: string) => void;
}

/**
 * Logs the limits that requests exceed and the descriptors that are banned, one record for each, and a sample of the
 * allowed requests, one record for each of their limits. A request is allowed if it exceeds no limit, not even one in
 * shadow mode. Requests that no limit applies to are not logged.
 */
export class DecisionLogger implements BatchObserver {
  readonly #parts: DecisionLoggerParts;
  /** Allowed requests since the last one that was logged. */
  #allowed = 0;
  /** Records dropped since the last one that was written. */
  #dropped = 0;
  #lines = '';

  constructor(parts: DecisionLoggerParts) {
    this.#parts = parts;
  }

  observe(batch: DecisionBatch, generation: RuleGeneration): void {
    const { sample, write } = this.#parts;
    const { rules } = generation;
    this.#lines = '';
    for (let request = 0; request < batch.size; request++) {
      if (batch.faults[request] !== null) continue;
      const isAllowed = this.#logExceeded(batch, rules, request);
      if (!isAllowed || sample === 0 || ++this.#allowed < sample) continue;
      this.#allowed = 0;
      this.#logAll(batch, rules, request);
    }
    if (this.#lines !== '') write(this.#lines);
  }

  /** Logs the limits that a request exceeds. Returns true if limits apply to it, and it exceeds none. */
  #logExceeded(batch: DecisionBatch, rules: CompiledRules, request: number): boolean {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    let limits = 0;
    let exceeded = 0;
    for (let descriptor = first; descriptor < end; descriptor++) {
      const kind = decisions.kind[descriptor];
      if (!isLimited(kind) && kind !== KIND.banned) continue;
      limits++;
      // The row of the descriptor shows whether any of its limits is exceeded.
      if (decisions.isOver[descriptor] === 0) continue;
      exceeded++;
      const endRow = endOfLimits(decisions, descriptor);
      for (let row = firstLimit(decisions, descriptor); row < endRow; row++) {
        if (decisions.kind[row] === KIND.none || decisions.isOver[row] === 0) continue;
        if (this.#admits(batch)) this.#log(batch, rules, { request, descriptor, row });
      }
    }
    return limits > 0 && exceeded === 0;
  }

  /** Logs the limits that apply to an allowed request: of several limits of a rule, the one that binds. */
  #logAll(batch: DecisionBatch, rules: CompiledRules, request: number): void {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    for (let descriptor = first; descriptor < end; descriptor++) {
      const kind = decisions.kind[descriptor];
      if (!isLimited(kind) || !this.#admits(batch)) continue;
      const row = kind === KIND.several ? decisions.binding[descriptor] : descriptor;
      this.#log(batch, rules, { request, descriptor, row });
    }
  }

  #admits({ nowS }: DecisionBatch): boolean {
    if (this.#parts.rate.admit(nowS)) return true;
    this.#dropped++;
    this.#parts.dropped.add(1);
    return false;
  }

  #log(batch: DecisionBatch, rules: CompiledRules, place: LoggedLimit): void {
    const { texts, modes } = this.#parts;
    this.#lines += logRecord(place, { batch, rules, modes, texts, dropped: this.#dropped });
    this.#dropped = 0;
  }
}
