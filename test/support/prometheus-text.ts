/** One sample of the text format. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric: its type, help and samples, those of a histogram under their full names. */
export interface Metric {
  readonly type: string;
  readonly help: string;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const ENDINGS: Readonly<Record<string, string>> = {
  histogram: '(_bucket|_sum|_count)',
  summary: '(_sum|_count)?',
};

/**
 * Reads a page in the text format 0.0.4 of Prometheus, by the letter of its description.
 * @throws Error with the line that breaks a rule
 */
export function readPrometheusText(page: string): Map<string, Metric> {
  const metrics = new Map<string, Metric & { samples: Map<string, Sample[]> }>();
  const seen = new Set<string>();
  let help: readonly [name: string, text: string] | null = null;
  let current = '';
  if (page !== '' && !page.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of page.split('\n').slice(0, -1)) {
    const refuse = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') help = [name, rest];
    else if (kind === 'TYPE') {
      if (metrics.has(name)) refuse('a second group of one metric');
      if (help !== null && help[0] !== name) refuse('help of another metric');
      metrics.set(name, { type: rest, help: help?.[1] ?? '', samples: new Map() });
      help = null;
      current = name;
    } else {
      const match = SAMPLE.exec(line) ?? refuse('not a sample');
      const [, sample, labels = '', value] = match as RegExpExecArray;
      const metric = metrics.get(current) ?? refuse('a sample before its type');
      const ending = ENDINGS[(metric as Metric).type] ?? '';
      if (!new RegExp(`^${current}${ending}$`).test(sample)) refuse(`no sample of ${current}`);
      if (seen.has(`${sample}{${labels}}`)) refuse('a second sample of one series');
      seen.add(`${sample}{${labels}}`);
      const { samples } = metric as { samples: Map<string, Sample[]> };
      samples.set(sample, [
        ...(samples.get(sample) ?? []),
        { labels: readLabels(labels), value: readValue(value) },
      ]);
    }
  }
  return metrics;
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  for (let at = 0; at < text.length; at = LABEL.lastIndex) {
    LABEL.lastIndex = at;
    const match = LABEL.exec(text);
    if (match === null) throw new Error(`not a label: ${text.slice(at)}`);
    const [, name, value] = match;
    if (name in labels) throw new Error(`a label twice: ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  return labels;
}

function readValue(text: string): number {
  const special: Readonly<Record<string, number>> = { NaN: Number.NaN, '+Inf': Number.POSITIVE_INFINITY };
  const value = special[text] ?? Number(text);
  if (!(text in special) && !Number.isFinite(value)) throw new Error(`not a value: ${text}`);
  return value;
}
