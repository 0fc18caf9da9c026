import { type LineFormat, plainNumber, sampleRate } from './line-format.ts';
import { type Tag, tagsInName } from './tags.ts';

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
