import { formatCount, formatShare } from '../../../design/format.ts';
import { Sparkline } from '../../../design/plots/sparkline.tsx';
import { timeOrDash, timeText, type Usage, type UsageFigures } from './usage.ts';

type Kind = Parameters<typeof Sparkline>[0]['kind'];

interface Tile {
  readonly title: string;
  readonly figure: string;
  readonly note: string;
  /** What the line behind it shows. */
  readonly of: keyof UsageFigures;
  readonly kind?: Kind;
}

/** The totals of the usage, each with its course. */
export function UsageTiles({ usage: { totals, series, interval_seconds } }: { readonly usage: Usage }) {
  const each = interval_seconds === 60 ? 'minute' : 'hour';
  const ended = totals.tasks_succeeded + totals.tasks_failed;
  const tiles: readonly Tile[] = [
    {
      title: 'Attempts started',
      figure: formatCount(totals.attempts_started),
      note: `${formatCount(totals.tasks_created)} ${totals.tasks_created === 1 ? 'task' : 'tasks'} created`,
      of: 'attempts_started',
    },
    {
      title: 'Attempts failed',
      figure: formatCount(totals.attempts_failed),
      note: `${formatShare(totals.attempts_failed, totals.attempts_started)} of those started`,
      of: 'attempts_failed',
      kind: 'near',
    },
    {
      title: 'Tasks failed',
      figure: formatCount(totals.tasks_failed),
      note: `${formatCount(totals.tasks_succeeded)} of ${formatCount(ended)} succeeded`,
      of: 'tasks_failed',
      kind: 'rejected',
    },
    {
      title: 'Duration, p95',
      figure: timeOrDash(totals.duration_p95_ms),
      note: `half within ${timeOrDash(totals.duration_p50_ms)}`,
      of: 'duration_p95_ms',
    },
    {
      title: 'Start lag, p95',
      figure: timeOrDash(totals.start_lag_p95_ms),
      note: `half within ${timeOrDash(totals.start_lag_p50_ms)}`,
      of: 'start_lag_p95_ms',
    },
  ];
  return (
    <div class="usage-tiles">
      {tiles.map(({ title, figure, note, of, kind }) => (
        <section key={title} class="panel usage-tile" aria-label={title}>
          <h2>{title}</h2>
          <div class="usage-now">
            <p class="usage-figure">{figure}</p>
            <Sparkline
              values={series.map(interval => interval[of] ?? 0)}
              label={`${title}, each ${each}`}
              {...(of.endsWith('_ms') && { format: timeText })}
              {...(kind !== undefined && { kind })}
            />
          </div>
          <p class="usage-note">{note}</p>
        </section>
      ))}
    </div>
  );
}
