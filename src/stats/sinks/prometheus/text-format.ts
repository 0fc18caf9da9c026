/** The text format 0.0.4 of Prometheus: names, labels and values as it writes them. */

/**
 * A statistic's name as that of a metric: what a metric's name cannot hold becomes `_`, a leading digit gets one in
 * front, and of several `-` in a row one is left.
 */
export function metricName(name: string): string {
  if (FIT_NAME.test(name)) return name;
  const replaced = name.replace(/-+|[^A-Za-z0-9_]/gu, '_');
  return /^\d/.test(replaced) ? `_${replaced}` : replaced;
}

const FIT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A label without the comma that stands between two. */
export function labelText(name: string, value: string): string {
  return `${name}="${UNFIT.test(value) ? value.replace(/[\\"\n]/g, escaped) : value}"`;
}

const UNFIT = /[\\"\n]/;

function escaped(char: string): string {
  return char === '\n' ? '\\n' : `\\${char}`;
}

/** The text behind `# HELP name`. */
export function helpText(help: string): string {
  return help.replace(/[\\\n]/g, escaped);
}

export function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** `name{labels}`, or the name alone. */
export function seriesText(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`;
}

/** One label more at the end. */
export function withLabel(labels: string, label: string): string {
  return labels === '' ? label : `${labels},${label}`;
}
