import { inOrder, type Tag } from '../line-formats.ts';
import {
  type EventKind,
  type Groups,
  type Mapping,
  type Mappings,
  type Template,
  template,
} from './mapping.ts';
import { labelText, metricName } from './text-format.ts';

/** The metric and labels of a statistic. */
export interface Mapped {
  readonly metric: string;
  /** The text between the braces, such as `domain="shop",key1="user"`. */
  readonly labels: string;
  /** Null for a statistic that no mapping matches. */
  readonly mapping: Mapping | null;
  /** The same statistic under the name of the previous version; null if the name has not changed. */
  readonly former: Mapped | null;
}

interface Compiled {
  readonly mapping: Mapping;
  readonly metric: Template;
  /** Null if the name has not changed. */
  readonly former: { readonly mapping: Mapping; readonly metric: Template } | null;
  /** Sorted by name, so that equal labels always give the same text. */
  readonly labels: readonly { readonly name: string; readonly value: Template }[];
}

interface Glob extends Compiled {
  readonly parts: readonly string[];
}

interface Pattern extends Compiled {
  readonly pattern: RegExp;
}

/** Maps names of statistics to metrics and labels. */
export class Mapper {
  /** Globs by their number of parts, in the order in which they are tried. */
  readonly #globs = new Map<number, Glob[]>();
  readonly #patterns: Pattern[] = [];
  /** Help texts by metric name. */
  readonly #helps = new Map<string, string>();
  readonly #otherwise: Mapper | null;
  /** Labels of statistics without a mapping. */
  readonly tagLabels: string;

  /** @param tags become labels of every metric */
  constructor({ list, globOrder, otherwise }: Mappings, tags: readonly Tag[]) {
    const own = new Map(inOrder(tags).map(([name, value]) => [metricName(name), value]));
    this.tagLabels = [...own].map(([name, value]) => labelText(name, value)).join(',');
    for (const mapping of list) {
      const compiled = compile(mapping, own);
      if (mapping.help !== '' && !this.#helps.has(mapping.name)) this.#helps.set(mapping.name, mapping.help);
      if ('pattern' in mapping.match) this.#patterns.push({ ...compiled, pattern: mapping.match.pattern });
      else this.#addGlob({ ...compiled, parts: mapping.match.glob });
    }
    if (globOrder === 'most specific') for (const globs of this.#globs.values()) globs.sort(bySpecificity);
    this.#otherwise =
      otherwise === undefined ? null : new Mapper({ list: otherwise, globOrder: 'first' }, tags);
  }

  /** Returns null if a mapping drops the statistic. All globs are tried before all patterns. */
  map(name: string, kind: EventKind): Mapped | null {
    const byGlob = this.#byGlob(name, kind);
    if (byGlob !== undefined) return byGlob;
    const byPattern = this.#byPattern(name, kind);
    if (byPattern !== undefined) return byPattern;
    return this.#otherwise === null ? this.#unmapped(name) : this.#otherwise.map(name, kind);
  }

  /** Returns the help text of a metric from any of its mappings; empty if none has a help text. */
  helpOf(metric: string): string {
    return this.#helps.get(metric) ?? this.#otherwise?.helpOf(metric) ?? '';
  }

  #addGlob(glob: Glob): void {
    const same = this.#globs.get(glob.parts.length);
    if (same === undefined) this.#globs.set(glob.parts.length, [glob]);
    else same.push(glob);
  }

  /** Returns undefined if no glob matches. */
  #byGlob(name: string, kind: EventKind): Mapped | null | undefined {
    const globs = this.#globs.get(partCount(name));
    if (globs === undefined) return undefined;
    const parts = name.split('.');
    const glob = globs.find(each => isOfKind(each.mapping, kind) && fits(each.parts, parts));
    if (glob === undefined) return undefined;
    return filled(glob, [name, ...parts.filter((_, at) => glob.parts[at] === '*')]);
  }

  #byPattern(name: string, kind: EventKind): Mapped | null | undefined {
    for (const pattern of this.#patterns) {
      if (!isOfKind(pattern.mapping, kind)) continue;
      const match = pattern.pattern.exec(name);
      if (match !== null) return filled(pattern, match);
    }
    return undefined;
  }

  #unmapped(name: string): Mapped {
    return { metric: metricName(name), labels: this.tagLabels, mapping: null, former: null };
  }
}

function compile(mapping: Mapping, tags: ReadonlyMap<string, string>): Compiled {
  const labels = new Map<string, Template>();
  for (const [name, value] of tags) labels.set(name, () => value);
  for (const [name, value] of mapping.labels) {
    if (!mapping.honorLabels || !tags.has(name)) labels.set(name, template(value));
  }
  const sorted = [...labels].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    mapping,
    metric: metricTemplate(mapping.name),
    former: mapping.formerly === '' ? null : former(mapping),
    labels: sorted.map(([name, value]) => ({ name, value })),
  };
}

/** The metric under its previous name, as it was then. */
function former(mapping: Mapping): Compiled['former'] {
  const { name, formerly } = mapping;
  return {
    mapping: { ...mapping, name: formerly, help: `Deprecated: use ${name}.`, onlyGrows: false },
    metric: metricTemplate(formerly),
  };
}

function filled({ mapping, metric, former, labels }: Compiled, groups: Groups): Mapped | null {
  if (mapping.action === 'drop') return null;
  let text = '';
  for (const { name, value } of labels) text += `${text === '' ? '' : ','}${labelText(name, value(groups))}`;
  const before =
    former === null
      ? null
      : { metric: former.metric(groups), labels: text, mapping: former.mapping, former: null };
  return { metric: metric(groups), labels: text, mapping, former: before };
}

function metricTemplate(text: string): Template {
  const fill = template(text);
  if (text.includes('$')) return groups => metricName(fill(groups));
  const name = metricName(text);
  return () => name;
}

function isOfKind(mapping: Mapping, kind: EventKind): boolean {
  return mapping.kind === null || mapping.kind === kind;
}

function fits(glob: readonly string[], parts: readonly string[]): boolean {
  // Compares from the end, because names differ most there.
  for (let at = parts.length - 1; at >= 0; at--) {
    if (glob[at] !== '*' && glob[at] !== parts[at]) return false;
  }
  return true;
}

function partCount(name: string): number {
  let count = 1;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) count++;
  return count;
}

/** Orders text before `*`, part by part from the left. Equal globs keep the order of the file. */
function bySpecificity(one: Glob, other: Glob): number {
  for (let at = 0; at < one.parts.length; at++) {
    const stars = Number(one.parts[at] === '*') - Number(other.parts[at] === '*');
    if (stars !== 0) return stars;
  }
  return 0;
}
