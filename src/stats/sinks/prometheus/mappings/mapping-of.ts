import { type EventKind, type Mapping, PLAIN_MAPPING } from '../mapping.ts';

type Labels = Mapping['labels'];

/** What a mapping says besides the names of the statistic and of the metric. */
type Rest = Partial<Omit<Mapping, 'match' | 'name' | 'help' | 'kind'>>;

/** A mapping for counters with names that match a glob. */
export function counter(match: string, name: string, help: string, rest: Rest = {}): Mapping {
  return mapping('counter', match, name, { ...rest, help });
}

/** A mapping for gauges with names that match a glob. */
export function gauge(match: string, name: string, help: string, rest: Rest = {}): Mapping {
  return mapping('gauge', match, name, { ...rest, help });
}

/** A mapping for a gauge that only grows, which Prometheus calls a counter. */
export function growingGauge(match: string, name: string, help: string, rest: Rest = {}): Mapping {
  return mapping('gauge', match, name, { ...rest, help, onlyGrows: true });
}

/**
 * A mapping for timers, which record milliseconds, to a histogram in seconds.
 *
 * @param buckets upper bounds in seconds
 */
export function duration(
  match: string,
  name: string,
  help: string,
  { buckets, ...rest }: Rest & { readonly buckets: readonly number[] },
): Mapping {
  return mapping('observer', match, name, {
    ...rest,
    help,
    observer: { type: 'histogram', buckets },
    scale: 0.001,
  });
}

/** A mapping that keeps the name of a statistic and adds a help text. */
export function sameName(kind: EventKind, name: string, help: string): Mapping {
  return mapping(kind, name, '$0', { help });
}

/** Labels with what the first, second, … `*` of a glob has matched. */
export function labelled(...names: readonly string[]): Labels {
  return names.map((name, at) => [name, `$${at + 1}`] as const);
}

function mapping(kind: EventKind, match: string, name: string, rest: Partial<Mapping>): Mapping {
  return { ...PLAIN_MAPPING, ...rest, kind, match: { glob: match.split('.') }, name };
}
