import { ByteWriter } from '../base/bytes.ts';
import type { RequestTable } from '../messages/request-table.ts';
import { compileRules } from '../rules/compile.ts';
import { CompiledRules } from '../rules/compiled-rules.ts';
import { Matcher } from '../rules/matching/matcher.ts';
import type { RuleEntry } from '../rules/rule-set.ts';
import { compositeOf, type SteeringRecord } from './record.ts';

/** A ban takes precedence over a pass, and both over an override. */
export const PRECEDENCE = { ban: 0, pass: 1, override: 2 } as const;

/** Records of one kind that cannot hide each other, compiled like rules. */
interface Layer {
  readonly rules: CompiledRules;
  /** The records by the `requests_per_unit` of the compiled limits. */
  readonly records: readonly SteeringRecord[];
}

/**
 * Steering records, compiled for matching. The compiler and the matcher are those of rules, so that wildcards mean the same.
 *
 * Rules are matched level by level without backtracking: an exact entry hides a wildcard even if nothing below it matches.
 * A new record must not switch off another one in this way. Records are therefore divided into layers by their kind, by
 * which of their entries are exact, wildcards and keys alone, and by the wildcards before the last entry. Within a layer, at
 * most the last entry leaves a choice.
 */
export class SteeringTable {
  /** How many milliseconds the clock by which records end is ahead of that of this process. */
  aheadMs = 0;
  readonly #layers: readonly Layer[];
  readonly #matcher = new Matcher();
  readonly #text = new ByteWriter();
  /** By layer: the top level of the rules for the domain of the current request; -1 for none. */
  readonly #levels: Int32Array;

  /** @param records of several that match by the same kind of entries, the first one applies */
  constructor(records: readonly SteeringRecord[]) {
    this.#layers = [...layersOf(records)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, own]) => ({ rules: compiled(own), records: own }));
    this.#levels = new Int32Array(this.#layers.length);
  }

  /** Selects the domain of a request. Returns false if no record is for this domain. */
  select(requests: RequestTable, request: number): boolean {
    let any = false;
    for (let i = 0; i < this.#layers.length; i++) {
      const { bytes, domainStart, domainEnd } = requests;
      const level = this.#layers[i].rules.domainLevel(bytes, domainStart[request], domainEnd[request]);
      this.#levels[i] = level;
      if (level >= 0) any = true;
    }
    return any;
  }

  /**
   * The record for a descriptor of the selected domain, or null. A ban takes precedence over a pass, and both over an
   * override. Then exact entries take precedence over wildcards, and wildcards over keys alone, level by level.
   */
  find(requests: RequestTable, descriptor: number): SteeringRecord | null {
    for (let i = 0; i < this.#layers.length; i++) {
      const level = this.#levels[i];
      if (level < 0) continue;
      const { rules, records } = this.#layers[i];
      this.#text.reset();
      const limit = this.#matcher.match(rules, level, requests, descriptor, this.#text);
      if (limit >= 0) return records[rules.requestsPerUnit(limit)];
    }
    return null;
  }
}

/** Number of layers that records need. */
export function layerCount(records: readonly SteeringRecord[]): number {
  return layersOf(records).size;
}

/** The records of each layer, by a name that sorts as the layers are asked. */
function layersOf(records: readonly SteeringRecord[]): Map<string, SteeringRecord[]> {
  const layers = new Map<string, SteeringRecord[]>();
  for (const record of records) {
    const composites = record.entries.map(compositeOf);
    const shape = record.entries
      .map(({ value }) => (value === '' ? 2 : value.includes('*') ? 1 : 0))
      .join('');
    const wildcards = composites.slice(0, -1).filter(text => text.includes('*'));
    const name = `${PRECEDENCE[record.kind]} ${shape} ${JSON.stringify(wildcards)}`;
    const layer = layers.get(name);
    if (layer === undefined) layers.set(name, [record]);
    else layer.push(record);
  }
  return layers;
}

/** An entry of the rules that a layer is compiled from. */
interface Node {
  readonly key: string;
  readonly value: string;
  readonly nodes: Map<string, Node>;
  /** Index of the record that ends here; -1 for none. */
  record: number;
}

function compiled(records: readonly SteeringRecord[]): CompiledRules {
  const domains = new Map<string, Map<string, Node>>();
  records.forEach(({ domain, entries }, i) => {
    let level = domains.get(domain);
    if (level === undefined) {
      level = new Map();
      domains.set(domain, level);
    }
    let node: Node | undefined;
    for (const { key, value } of entries) {
      const composite = compositeOf({ key, value });
      node = level.get(composite);
      if (node === undefined) {
        node = { key, value, nodes: new Map(), record: -1 };
        level.set(composite, node);
      }
      level = node.nodes;
    }
    if (node !== undefined && node.record < 0) node.record = i;
  });
  const named = [...domains].map(([name, nodes]) => ({ name, entries: entriesOf(nodes) }));
  return new CompiledRules(compileRules({ domains: named }));
}

function entriesOf(nodes: ReadonlyMap<string, Node>): RuleEntry[] {
  return [...nodes].map(([composite, { key, value, nodes: below, record }]) => ({
    key,
    value,
    composite,
    limits: record < 0 ? [] : [{ ...NO_LIMIT, requestsPerUnit: record }],
    ...NO_FLAGS,
    entries: entriesOf(below),
  }));
}

const NO_LIMIT = { unit: null, unlimited: false, name: '', replaces: [], terms: null, item: null };
const NO_FLAGS = {
  shadowMode: false,
  quotaMode: false,
  detailedMetric: false,
  valueToMetric: false,
  shareThreshold: false,
  metadata: null,
};
