/** Kinds of statistics, as mapper files name them. */
export type EventKind = 'counter' | 'gauge' | 'observer';

/** Maps a group of statistics to a metric: an entry of a mapper file. */
export interface Mapping {
  readonly match: { readonly glob: readonly string[] } | { readonly pattern: RegExp };
  /** The kind of statistics to match; null: any. */
  readonly kind: EventKind | null;
  /** `drop` omits the statistic. */
  readonly action: 'map' | 'drop';
  /** Name of the metric: a {@link Template}. */
  readonly name: string;
  /** The values are templates as well. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** How timers are shown. */
  readonly observer: ObserverOptions;
  /** Factor on every value. */
  readonly scale: number;
  /** A series that has not changed for this long is omitted; 0: never. */
  readonly ttlMs: number;
  /** Help text of the metric; may be empty. */
  readonly help: string;
  /** Tags of all statistics take precedence over labels with the same name. */
  readonly honorLabels: boolean;
  /** Gauges become a counter, because their values only grow. */
  readonly onlyGrows: boolean;
  /**
   * The name of the metric in the previous version: a {@link Template}. The metric is shown under both names, so that
   * queries can be changed before the old name is removed. Empty: none.
   */
  readonly formerly: string;
}

export type ObserverOptions =
  | { readonly type: 'histogram'; readonly buckets: readonly number[] }
  | { readonly type: 'summary'; readonly quantiles: readonly number[] };

/** Mappings, and how their globs are tried. */
export interface Mappings {
  /** Mappings in the order of the file. */
  readonly list: readonly Mapping[];
  /** Which matching glob applies: the first, or the one with text where others have `*`. */
  readonly globOrder: 'first' | 'most specific';
  /** Mappings for statistics that match nothing in `list`. */
  readonly otherwise?: readonly Mapping[];
}

export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const DEFAULT_QUANTILES: readonly number[] = [0.5, 0.9, 0.99];

/** Defaults of a mapping. */
export const PLAIN_MAPPING: Omit<Mapping, 'match' | 'name'> = {
  kind: null,
  action: 'map',
  labels: [],
  observer: { type: 'summary', quantiles: DEFAULT_QUANTILES },
  scale: 1,
  ttlMs: 0,
  help: '',
  honorLabels: false,
  onlyGrows: false,
  formerly: '',
};

/** A text in which `$1`, `${1}`, `$name` or `${name}` stands for the text that a `*` of a glob or a group matched. */
export type Template = (groups: Groups) => string;

/** The whole match, then the groups. */
export type Groups = readonly (string | undefined)[] & {
  readonly groups?: Record<string, string | undefined> | undefined;
};

const REFERENCE = /\$(?:\$|\{(\w+)\}|(\w+))/g;

/**
 * Parses a template once, because it is filled for hundreds of thousands of names. A group that does not exist or did
 * not match is empty. `$$` is a dollar sign.
 */
export function template(text: string): Template {
  const parts: Template[] = [];
  let from = 0;
  for (const reference of text.matchAll(REFERENCE)) {
    const [whole, braced, bare] = reference;
    parts.push(literal(text.slice(from, reference.index)));
    parts.push(whole === '$$' ? literal('$') : group(braced ?? bare));
    from = reference.index + whole.length;
  }
  parts.push(literal(text.slice(from)));
  return groups => {
    let filled = '';
    for (const part of parts) filled += part(groups);
    return filled;
  };
}

function literal(text: string): Template {
  return () => text;
}

function group(name: string): Template {
  if (!/^\d+$/.test(name)) return groups => groups.groups?.[name] ?? '';
  const number = Number(name);
  return groups => groups[number] ?? '';
}
