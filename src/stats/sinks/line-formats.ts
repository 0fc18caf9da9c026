import type { Clock } from '../../base/clock.ts';
import type { Durations } from './deltas.ts';

/** How a sink writes statistics: whole lines, each with its line feed. Empty for one that it does not show. */
export interface LineFormat {
  /** What a counter grew by since the last flush. */
  counter(name: string, delta: number): string;
  gauge(name: string, value: number): string;
  timer(name: string, durations: Durations): string;
  /** Ends a flush. */
  end(): string;
}

/** Whole numbers as they are, others with six decimals: never with an exponent, which not every receiver reads. */
export function plainNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : value.toFixed(6);
}

/**
 * The share of values that is sent, as `@0.25`, when one line stands for `count` of them. Receivers take one divided by
 * it, some of them cut to a whole number, so it is never above the true share.
 */
export function sampleRate(count: number): string {
  if (count === 1) return '';
  const decimals = 2 * String(count).length + 1;
  const share = 10n ** BigInt(decimals) / BigInt(count);
  return `|@0.${String(share).padStart(decimals, '0').replace(/0+$/, '')}`;
}

/** A name and a value that tell statistics of one deployment from those of another. */
export type Tag = readonly [name: string, value: string];

/** What stands between a name and its tags where a protocol knows no tags. */
const TAG_MARK = '.__';

/**
 * Tags as the end of a name, in the order of their names: `.__env=prod.__zone=a`. The reference implementation puts
 * them there; tags without a name or value are left out.
 */
export function tagsInName(tags: readonly Tag[]): string {
  return inOrder(tags)
    .filter(([name, value]) => name !== '' && value !== '')
    .map(([name, value]) => `${TAG_MARK}${name}=${lineValue(value)}`)
    .join('');
}

/** Tags in the order of their names. */
export function inOrder(tags: readonly Tag[]): readonly Tag[] {
  return tags.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** A tag's value that neither ends a name nor begins a part of it. */
function lineValue(value: string): string {
  return value.replace(/[.:|\r\n]/g, '_');
}

/** The lines of statsd, as the reference implementation writes them. It knows no tags, so they end the name. */
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
 * Makes a name and tags out of a name that is a path: `ratelimit.service.rate_limit.shop.user.over_limit` with the
 * pattern `rate_limit\.(\w+)\.(.+)\.(\w+)$` becomes `limits.$3` with the tag `rule:$2`.
 */
interface Mogrifier {
  /** Found anywhere in the name. */
  readonly pattern: RegExp;
  /** A template: `$1` is what the first group of the pattern matched, `$0` the whole match. */
  readonly name: string;
  /** The values are templates too. */
  readonly tags: readonly Tag[];
}

/** What the first mogrifier whose pattern is found makes of a name; null when there is none. */
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

/** A number beyond the groups stays as it is written; a group that took no part is empty. */
function filled(template: string, match: RegExpExecArray): string {
  return template.replace(/\$(\d+)/g, (written, digits: string) =>
    Number(digits) < match.length ? (match[Number(digits)] ?? '') : written,
  );
}

interface DogStatsdOptions {
  /** Of the process, as its orchestration names it; first, and as they are. */
  readonly globalTags: readonly Tag[];
  /** Of all statistics. */
  readonly tags: readonly Tag[];
  /** The first that fits a name applies. */
  readonly mogrifiers: readonly Mogrifier[];
}

/** The lines of DogStatsD: those of statsd with tags behind a `#`. */
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

/** What a request brought must not begin a tag, a field or a line of its own. */
function fieldText(text: string): string {
  return text.replace(/[,|\r\n]/g, '_');
}

/**
 * A JSON object per line, as the reference implementation writes statistics that have no sink. A timer's line stands
 * for `count` durations, and has their mean.
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
