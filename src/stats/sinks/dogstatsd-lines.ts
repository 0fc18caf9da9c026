import { type LineFormat, plainNumber, sampleRate } from './line-format.ts';
import { type Mogrifier, mogrified } from './mogrifier.ts';
import { inOrder, lineValue, type Tag } from './tags.ts';

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
