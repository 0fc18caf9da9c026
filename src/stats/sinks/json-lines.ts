import type { Clock } from '../../base/clock.ts';
import type { LineFormat } from './line-format.ts';
import { type Tag, tagsInName } from './tags.ts';

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
