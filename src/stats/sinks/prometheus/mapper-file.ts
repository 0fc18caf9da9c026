import { parse } from 'yaml';
import { asError } from '../../../base/fault.ts';
import { goPattern } from '../../../base/go-pattern.ts';
import { MapperNode } from './mapper-node.ts';
import {
  DEFAULT_BUCKETS,
  DEFAULT_QUANTILES,
  type EventKind,
  type Mapping,
  type Mappings,
  type ObserverOptions,
  PLAIN_MAPPING,
} from './mapping.ts';

const KINDS: Readonly<Record<string, EventKind>> = {
  counter: 'counter',
  gauge: 'gauge',
  observer: 'observer',
  timer: 'observer',
};

const METRIC_NAME = /^(?:[A-Za-z_]|\$(?:\d+|\{\d+\}))(?:\w|\$(?:\w+|\{\w+\}))*$/;
const LABEL_NAME = /^[A-Za-z_]\w+$/;

/** A mapper file is invalid. The message lists every fault. */
export class MapperFileRefused extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'MapperFileRefused';
  }
}

/**
 * Parses a mapper file in the format of the Prometheus statsd exporter, which the reference implementation uses as
 * well.
 * @param parseDuration returns the milliseconds of a text such as `1m30s`; null if it is not a duration
 * @throws MapperFileRefused with every fault, its place, and what is accepted
 */
export function parseMapperFile(text: string, parseDuration: (text: string) => number | null): Mappings {
  let content: unknown;
  try {
    content = parse(text, { logLevel: 'error' });
  } catch (failure) {
    throw new MapperFileRefused([asError(failure).message.trim()]);
  }
  const root = new MapperNode(content ?? {}, '', []);
  const reader = new MappingReader(root.child('defaults'), parseDuration);
  const list = root.items('mappings').map(node => reader.mapping(node));
  root.knows(['defaults', 'mappings']);
  // The defaults are read once per mapping, so each of their faults is found once per mapping.
  if (root.faults.length > 0) throw new MapperFileRefused([...new Set(root.faults)]);
  return { list, globOrder: reader.globOrder };
}

class MappingReader {
  readonly globOrder: Mappings['globOrder'];
  readonly #defaults: MapperNode;
  readonly #parseDuration: (text: string) => number | null;

  constructor(defaults: MapperNode, parseDuration: (text: string) => number | null) {
    this.#defaults = defaults;
    this.#parseDuration = parseDuration;
    this.globOrder = defaults.bool('glob_disable_ordering') ? 'most specific' : 'first';
    defaults.knows([
      ...['observer_type', 'timer_type', 'match_type', 'glob_disable_ordering', 'ttl'],
      ...['histogram_options', 'summary_options', 'buckets', 'quantiles'],
    ]);
  }

  mapping(node: MapperNode): Mapping {
    node.knows([
      ...['match', 'match_type', 'match_metric_type', 'name', 'labels', 'action', 'help', 'honor_labels'],
      ...['timer_type', 'observer_type', 'histogram_options', 'summary_options', 'buckets', 'quantiles'],
      ...['scale', 'ttl'],
    ]);
    const name = node.text('name');
    if (!METRIC_NAME.test(name)) node.fault('name', 'the name of a metric: letters, digits, _ and $1');
    return {
      ...PLAIN_MAPPING,
      match: this.#match(node),
      kind: KINDS[node.choice('match_metric_type', Object.keys(KINDS)) ?? ''] ?? null,
      action: node.choice('action', ['map', 'drop']) === 'drop' ? 'drop' : 'map',
      name,
      labels: labelsOf(node),
      observer: this.#observer(node),
      scale: node.number('scale') ?? 1,
      ttlMs: this.#duration(node) ?? this.#duration(this.#defaults) ?? 0,
      help: node.text('help'),
      honorLabels: node.bool('honor_labels'),
    };
  }

  #match(node: MapperNode): Mapping['match'] {
    const match = node.text('match');
    if (match === '') node.fault('match', 'the pattern that names of statistics must match');
    const types = ['glob', 'regex'];
    const type = node.choice('match_type', types) ?? this.#defaults.choice('match_type', types);
    return type === 'regex' ? { pattern: patternOf(node, match) } : { glob: globOf(node, match) };
  }

  #observer(node: MapperNode): ObserverOptions {
    const type = observerType(node) ?? observerType(this.#defaults) ?? 'summary';
    const own = { buckets: bucketsOf(node), quantiles: quantilesOf(node) };
    if (type === 'histogram') {
      if (own.quantiles !== null)
        node.fault('summary_options', 'nothing, because the observer type is histogram');
      return { type, buckets: own.buckets ?? bucketsOf(this.#defaults) ?? DEFAULT_BUCKETS };
    }
    if (own.buckets !== null)
      node.fault('histogram_options', 'nothing, because the observer type is summary');
    return { type: 'summary', quantiles: own.quantiles ?? quantilesOf(this.#defaults) ?? DEFAULT_QUANTILES };
  }

  #duration(node: MapperNode): number | null {
    const text = node.text('ttl');
    if (text === '') return null;
    const ms = this.#parseDuration(text);
    if (ms === null || ms < 0) node.fault('ttl', 'a duration such as 10m');
    return ms;
  }
}

function observerType(node: MapperNode): string | null {
  const types = ['histogram', 'summary'];
  return node.choice('observer_type', types) ?? node.choice('timer_type', types);
}

/**
 * Returns null without a list. The reference implementation crashes if the list is at its old place, beside the
 * options.
 */
function bucketsOf(node: MapperNode): readonly number[] | null {
  const options = node.child('histogram_options');
  options.knows(['buckets', 'native_histogram_bucket_factor', 'native_histogram_max_buckets']);
  const buckets = options.numbers('buckets') ?? node.numbers('buckets');
  if (buckets?.some((bound, at) => at > 0 && bound <= buckets[at - 1])) {
    node.fault('buckets', 'bounds in increasing order');
  }
  return buckets;
}

/** The allowed errors of quantiles are accepted and ignored. */
function quantilesOf(node: MapperNode): readonly number[] | null {
  const options = node.child('summary_options');
  options.knows(['quantiles', 'max_age', 'age_buckets', 'buf_cap']);
  const items = [...options.items('quantiles'), ...node.items('quantiles')];
  if (items.length === 0) return null;
  return items.map(item => {
    const quantile = item.number('quantile') ?? -1;
    if (!(quantile >= 0 && quantile <= 1)) item.fault('quantile', 'a number from 0 to 1');
    return quantile;
  });
}

function labelsOf(node: MapperNode): (readonly [string, string])[] {
  const labels = node.child('labels');
  return labels.keys().map(name => {
    if (!LABEL_NAME.test(name)) {
      labels.fault(name, 'the name of a label: two or more letters, digits or _, no digit first');
    }
    return [name, labels.text(name)] as const;
  });
}

function globOf(node: MapperNode, match: string): readonly string[] {
  const parts = match.split('.');
  if (parts.some(part => part === '' || (part.includes('*') && part !== '*'))) {
    node.fault('match', 'parts separated by dots, where * stands for one whole part');
  }
  return parts;
}

function patternOf(node: MapperNode, match: string): RegExp {
  try {
    return goPattern(match);
  } catch (failure) {
    node.fault('match', `a regular expression: ${asError(failure).message}`);
    return /(?!)/;
  }
}
