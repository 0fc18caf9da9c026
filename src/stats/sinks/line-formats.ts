import type { Clock } from '../../base/clock.ts';
import type { Durations } from './deltas.ts';

/** Formats statistics as whole lines, each with its line feed. An empty string omits a statistic. */
export interface LineFormat {
  /** `delta` is the growth of the counter since the last flush. */
  counter(name: string, delta: number): string;
  gauge(name: string, value: number): string;
  timer(name: string, durations: Durations): string;
  /** Text at the end of a flush. */
  end(): string;
}

/**
 * Whole numbers without decimals, other numbers with six. Never with an exponent, which some receivers cannot parse.
 */
export function plainNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : value.toFixed(6);
}

/**
 * The sample rate, such as `|@0.25`, of a line that represents `count` values. Receivers compute 1 / rate, and some
 * round the result down, so the rate is never above the exact value.
 */
export function sampleRate(count: number): string {
  if (count === 1) return '';
  const decimals = 2 * String(count).length + 1;
  const share = 10n ** BigInt(decimals) / BigInt(count);
  return `|@0.${String(share).padStart(decimals, '0').replace(/0+$/, '')}`;
}

/** A name and a value that distinguish the statistics of deployments. */
export type Tag = readonly [name: string, value: string];

/** Separates a name from its tags in protocols without tags. */
const TAG_MARK = '.__';

/**
 * Tags as the suffix of a name, sorted: `.__env=prod.__zone=a`. The reference implementation does the same. Tags
 * without a name or value are omitted.
 */
export function tagsInName(tags: readonly Tag[]): string {
  return inOrder(tags)
    .filter(([name, value]) => name !== '' && value !== '')
    .map(([name, value]) => `${TAG_MARK}${name}=${lineValue(value)}`)
    .join('');
}

/** Sorts tags by name. */
export function inOrder(tags: readonly Tag[]): readonly Tag[] {
  return tags.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Replaces characters of a tag value that would end a name or start a new part of it. */
function lineValue(value: string): string {
  return value.replace(/[.:|\r\n]/g, '_');
}

/**
 * statsd lines in the form of the reference implementation. statsd has no tags, so they become a suffix of the name.
 */
export function statsdLines(tags: readonly Tag[]): LineFormat {
  const ending = tagsInName(tags);
  return {
    counter: (name, delta) => `${name}${ending}:${plainNumber(delta)}|c\n`,
    gauge: (name, value) => `${name}${ending}:${plainNumber(value)}|g\n`,
    timer: (name, { count, meanMs }) => `${name}${ending}:${plainNumber(meanMs)}|ms${sampleRate(count)}\n`,
    end: () => '',
  };
}

/**
 * Turns a long name into a shorter name and tags. For example, the pattern `rate_limit\.(\w+)\.(.+)\.(\w+)$` can turn
 * `ratelimit.service.rate_limit.shop.user.over_limit` into `limits.$3` with the tag `rule:$2`.
 */
interface Mogrifier {
  /** Matches anywhere in the name. */
  readonly pattern: RegExp;
  /** A template. `$1` is the text of the first group of the pattern, `$0` the whole match. */
  readonly name: string;
  /** The values are templates too. */
  readonly tags: readonly Tag[];
}

/** Applies the first mogrifier whose pattern matches. Returns null if none matches. */
function mogrified(
  mogrifiers: readonly Mogrifier[],
  name: string,
): { readonly name: string; readonly tags: readonly Tag[] } | null {
  for (const mogrifier of mogrifiers) {
    const match = mogrifier.pattern.exec(name);
    if (match === null) continue;
    return {
      name: filled(mogrifier.name, match),
      tags: mogrifier.tags.map(([tag, template]) => [tag, filled(template, match)] as const),
    };
  }
  return null;
}

/** Fills a template. References to missing groups stay as they are. Groups that did not match are empty. */
function filled(template: string, match: RegExpExecArray): string {
  return template.replace(/\$(\d+)/g, (written, digits: string) =>
    Number(digits) < match.length ? (match[Number(digits)] ?? '') : written,
  );
}

interface DogStatsdOptions {
  /** Tags of the process from its orchestration. They come first and are not changed. */
  readonly globalTags: readonly Tag[];
  /** Tags of all statistics. */
  readonly tags: readonly Tag[];
  /** The first mogrifier that matches a name applies. */
  readonly mogrifiers: readonly Mogrifier[];
}

/** DogStatsD lines: statsd lines with tags after `#`. */
export function dogStatsdLines({ globalTags, tags, mogrifiers }: DogStatsdOptions): LineFormat {
  const given = [
    ...globalTags.filter(([, value]) => value !== ''),
    ...inOrder(tags)
      .filter(([name, value]) => name !== '' && value !== '')
      .map(([name, value]) => [name, lineValue(value)] as const),
  ];
  const line = (name: string, value: (name: string) => string): string => {
    const made = mogrified(mogrifiers, name);
    const all = made === null ? given : [...given, ...made.tags];
    const written = all.map(([tag, text]) => `${tag}:${fieldText(text)}`).join(',');
    return `${value(made === null ? name : fieldText(made.name))}${written === '' ? '' : `|#${written}`}\n`;
  };
  return {
    counter: (path, delta) => line(path, name => `${name}:${plainNumber(delta)}|c`),
    gauge: (path, value) => line(path, name => `${name}:${plainNumber(value)}|g`),
    timer: (path, { count, meanMs }) =>
      line(path, name => `${name}:${meanMs.toFixed(6)}|ms${sampleRate(count)}`),
    end: () => '',
  };
}

/** Replaces characters with which text from a request could start another tag, field or line. */
function fieldText(text: string): string {
  return text.replace(/[,|\r\n]/g, '_');
}

/**
 * One JSON object per line, in the form in which the reference implementation logs statistics without a sink. The line
 * of a timer represents `count` durations and shows their mean.
 */
export function jsonLines(tags: readonly Tag[], clock: Clock): LineFormat {
  const ending = tagsInName(tags);
  const line = (type: string, json: Record<string, string | number>): string => {
    const text = JSON.stringify({ ...json, type });
    const ts = (clock.nowMs() / 1000).toFixed(6);
    return `{"level":"debug","ts":${ts},"logger":"gostats.loggingsink","msg":"flushing ${type}","json":${text}}\n`;
  };
  const value = (number: number): string => number.toFixed(6);
  return {
    counter: (name, delta) => line('counter', { name: name + ending, value: value(delta) }),
    gauge: (name, number) => line('gauge', { name: name + ending, value: value(number) }),
    timer: (name, { count, meanMs }) => line('timer', { name: name + ending, value: value(meanMs), count }),
    end: () => line('all stats', { value: value(0) }),
  };
}
