/** A text in which `$1`, `${1}`, `$name` or `${name}` stands for what a glob's `*` or a pattern's group matched. */
export type Template = (groups: Groups) => string;

/** The whole match, then the groups. */
export type Groups = readonly (string | undefined)[] & {
  readonly groups?: Record<string, string | undefined> | undefined;
};

const REFERENCE = /\$(?:\$|\{(\w+)\}|(\w+))/g;

/**
 * Takes the text apart once: it is filled for hundreds of thousands of names. A group that does not exist, or took no
 * part, is empty; `$$` is a dollar sign.
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

/** What a statistic is, as mappings name it. */
export type EventKind = 'counter' | 'gauge' | 'observer';

/** How one group of statistics becomes a metric, as a mapper file says it. */
export interface Mapping {
  readonly match: { readonly glob: readonly string[] } | { readonly pattern: RegExp };
  /** Only statistics of this kind; null for any. */
  readonly kind: EventKind | null;
  /** `drop` leaves the statistic out. */
  readonly action: 'map' | 'drop';
  /** Name of the metric: a template, in which `$1` or `${1}` is what the first `*` or group matched. */
  readonly name: string;
  /** The values are templates too. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** How timers are shown. */
  readonly observer: ObserverOptions;
  /** Factor on every value. */
  readonly scale: number;
  /** A series that has not changed for this long is left out; 0 for never. */
  readonly ttlMs: number;
  /** Empty for none. */
  readonly help: string;
  /** A tag of all statistics wins over a label of the same name. */
  readonly honorLabels: boolean;
}

export type ObserverOptions =
  | { readonly type: 'histogram'; readonly buckets: readonly number[] }
  | { readonly type: 'summary'; readonly quantiles: readonly number[] };

/** Mappings, and how their globs are tried. */
export interface Mappings {
  /** In the order of the file. */
  readonly list: readonly Mapping[];
  /** Which of several globs that match applies: the first, or the one with text where others have `*`. */
  readonly globOrder: 'first' | 'most specific';
  /** For what none of the list matches, whatever its form. */
  readonly otherwise?: readonly Mapping[];
}

export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const DEFAULT_QUANTILES: readonly number[] = [0.5, 0.9, 0.99];

/** Everything that a mapping need not say. */
export const PLAIN_MAPPING: Omit<Mapping, 'match' | 'name'> = {
  kind: null,
  action: 'map',
  labels: [],
  observer: { type: 'summary', quantiles: DEFAULT_QUANTILES },
  scale: 1,
  ttlMs: 0,
  help: '',
  honorLabels: false,
};
