import { Histogram } from '../../histogram.ts';
import { GrowingNumbers, NameHash, NameIndex, TextArena } from '../off-heap.ts';
import type { Mapped } from './mapper.ts';
import type { Mapping } from './mapping.ts';
import { seriesText } from './text-format.ts';

/** All series of one metric. */
export interface Family {
  readonly metric: string;
  readonly kind: 'counter' | 'gauge' | 'observer';
  /** The mapping of its first series; null if no mapping matched. */
  readonly mapping: Mapping | null;
  /** Number of its first and last series, or -1. */
  first: number;
  last: number;
  /** Timers by their labels; null if the family has other statistics. */
  readonly timers: Map<string, Histogram> | null;
}

interface Series {
  readonly labels: string;
  readonly value: number;
}

/**
 * The series of one scrape. Statistics that map to the same series are added up. Series of the same metric are listed
 * together, as the text format requires.
 */
export class Families {
  /** Metrics with statistics of different kinds. Only statistics of the first kind are listed. */
  readonly conflicts = new Set<string>();
  readonly #families = new Map<string, Family>();
  readonly #index = new NameIndex();
  readonly #hash = new NameHash();
  readonly #values = new GrowingNumbers();
  /** Number of the labels of each series in {@link TextArena}. */
  readonly #labels = new GrowingNumbers();
  /** The number of the next series of the same family, or -1. */
  readonly #next = new GrowingNumbers();
  readonly #texts = new TextArena();

  /** Adds to a series. A new series starts at 0. */
  add(mapped: Mapped, kind: 'counter' | 'gauge', value: number): void {
    const family = this.#family(mapped, kind);
    if (family === null) return;
    const { metric, labels } = mapped;
    const number = this.#index.add(this.#hash.of(seriesText(metric, labels)));
    if (number < this.#values.length) this.#values.set(number, this.#values.get(number) + value);
    else this.#append(family, labels, value);
  }

  addTimer(mapped: Mapped, timer: Histogram): void {
    const family = this.#family(mapped, 'observer');
    if (family?.timers == null) return;
    let merged = family.timers.get(mapped.labels);
    if (merged === undefined) {
      merged = new Histogram();
      family.timers.set(mapped.labels, merged);
    }
    merged.add(timer);
  }

  [Symbol.iterator](): Iterator<Family> {
    return this.#families.values();
  }

  *series(family: Family): Iterable<Series> {
    for (let number = family.first; number >= 0; number = this.#next.get(number)) {
      yield { labels: this.#texts.get(this.#labels.get(number)), value: this.#values.get(number) };
    }
  }

  #append(family: Family, labels: string, value: number): void {
    const number = this.#values.length;
    this.#values.push(value);
    this.#labels.push(this.#texts.add(labels));
    this.#next.push(-1);
    if (family.last >= 0) this.#next.set(family.last, number);
    else family.first = number;
    family.last = number;
  }

  /** Returns the family of a metric, or null if the metric already has another kind. */
  #family({ metric, mapping }: Mapped, kind: Family['kind']): Family | null {
    let family = this.#families.get(metric);
    if (family === undefined) {
      family = { metric, kind, mapping, first: -1, last: -1, timers: kind === 'observer' ? new Map() : null };
      this.#families.set(metric, family);
    }
    if (family.kind === kind) return family;
    this.conflicts.add(metric);
    return null;
  }
}
