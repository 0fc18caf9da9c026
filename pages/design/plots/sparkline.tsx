import { formatCount } from '../format.ts';

const WIDTH = 80;
const HEIGHT = 20;

interface SparklineProps {
  /** The oldest first. */
  readonly values: readonly number[];
  /** What is shown: `hits per minute`. */
  readonly label: string;
  /** The color: that of a status, or one without a meaning. */
  readonly kind?: 'plain' | 'near' | 'rejected' | 'shadow';
  /** How values are told; {@link formatCount} if absent. */
  readonly format?: (value: number) => string;
}

/** A small line without axes. Its text alternative says where it begins, its maximum, and where it ends. */
export function Sparkline({ values, label, kind = 'plain', format = formatCount }: SparklineProps) {
  const max = Math.max(...values, 0);
  const text =
    values.length === 0
      ? `${label}: no figures yet`
      : `${label}: from ${format(values[0])} to ${format(values.at(-1) ?? 0)}, at most ${format(max)}`;
  const step = WIDTH / Math.max(values.length - 1, 1);
  const y = (value: number) => (max === 0 ? HEIGHT - 1 : HEIGHT - 1 - (value / max) * (HEIGHT - 2));
  const line = values.map((value, i) => `${(i * step).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return (
    <svg
      class={`sparkline sparkline-${kind}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      {values.length > 1 && (
        <>
          <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
          <polyline points={line} />
        </>
      )}
    </svg>
  );
}
