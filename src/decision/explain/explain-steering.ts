import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { type SteeringRecord, timeText } from '../../steering/record.ts';
import { RecordFinder } from '../../steering/record-finder.ts';
import type { SteeringTable } from '../../steering/steering-table.ts';
import { type DecisionBatch, KIND, OVERRIDDEN } from '../batch.ts';

/** The steering record for a descriptor. */
export interface ExplainedRecord {
  readonly id: string;
  readonly kind: SteeringRecord['kind'];
  /** What it does with the descriptor, or why it does nothing, as a sentence. */
  readonly effect: string;
  /** In RFC 3339, UTC. */
  readonly until: string;
  readonly reason: string;
  readonly by: string;
}

/** The steering records for the descriptors of a decided batch with one request. */
export class SteeringExplainer {
  readonly #batch: DecisionBatch;
  readonly #table: SteeringTable | null;
  readonly #rules: CompiledRules;
  readonly #finder = new RecordFinder();
  /** Whether a descriptor of the request has a ban. */
  readonly anyBan: boolean;

  constructor(batch: DecisionBatch, table: SteeringTable | null, rules: CompiledRules) {
    const { requests, decisions } = batch;
    this.#batch = batch;
    this.#rules = rules;
    this.#table = table?.select(requests, 0) === true ? table : null;
    const first = requests.firstDescriptor[0];
    const kinds = decisions.kind.subarray(first, first + requests.descriptorCount[0]);
    this.anyBan = kinds.includes(KIND.banned);
  }

  /** The record for the descriptor in a row; null if there is none. */
  record(row: number): ExplainedRecord | null {
    if (this.#table === null) return null;
    const { requests } = this.#batch;
    const record = this.#finder.find(this.#table, this.#rules, requests, { request: 0, row });
    if (record === null) return null;
    const { id, kind, untilS, reason, by } = record;
    return { id, kind, effect: this.#effect(record, row), until: timeText(untilS), reason, by };
  }

  #effect(record: SteeringRecord, row: number): string {
    const { kind } = record;
    if (kind === 'override') return this.#overrideEffect(record, row);
    if (kind === 'pass') return 'the descriptor is allowed and not counted';
    const isRefund = this.#batch.requests.isRefund[row] === 1;
    return isRefund
      ? 'none: refunds are counted in spite of a ban'
      : 'the request is refused and not counted';
  }

  #overrideEffect({ requestsPerUnit, factor }: SteeringRecord, row: number): string {
    const { decisions } = this.#batch;
    const kind = decisions.kind[row];
    if (this.anyBan) return 'none: the request has a ban';
    if (kind === KIND.none) return 'none: no limit applies to the descriptor';
    if (kind === KIND.unlimited) return 'none: the rule is unlimited';
    if (kind === KIND.several && factor === null)
      return 'none: the rule has several limits, for which an override needs a factor';
    if (factor !== null) return `the limit of the rule times ${factor}`;
    if ((decisions.flags[row] & OVERRIDDEN) === 0) return 'none: the rule has the same limit';
    return `the limit is ${requestsPerUnit}`;
  }
}
