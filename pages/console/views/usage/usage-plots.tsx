import { formatCount } from '../../../design/format.ts';
import { Plot, type PlotKind } from '../../../design/plots/plot.tsx';
import { timeText, type Usage, type UsageFigures } from './usage.ts';

interface Drawn {
  readonly title: string;
  readonly format: (value: number) => string;
  readonly lines: readonly (readonly [name: string, figure: keyof UsageFigures, kind: PlotKind])[];
}

/** Rates, failures and latencies over time. */
export function UsagePlots({ usage: { series, interval_seconds } }: { readonly usage: Usage }) {
  const each = interval_seconds === 60 ? 'minute' : 'hour';
  const times = series.map(({ at }) => Date.parse(at));
  const plots: readonly Drawn[] = [
    {
      title: `Tasks and attempts per ${each}`,
      format: formatCount,
      lines: [
        ['Tasks created', 'tasks_created', 'second'],
        ['Attempts started', 'attempts_started', 'fourth'],
        ['Tasks succeeded', 'tasks_succeeded', 'allowed'],
      ],
    },
    {
      title: `Failures per ${each}`,
      format: formatCount,
      lines: [
        ['Attempts failed', 'attempts_failed', 'near'],
        ['Tasks failed', 'tasks_failed', 'rejected'],
        ['Tasks expired', 'tasks_expired', 'fifth'],
        ['Tasks canceled', 'tasks_canceled', 'rest'],
      ],
    },
    {
      title: 'How long attempts took',
      format: timeText,
      lines: [
        ['p95', 'duration_p95_ms', 'third'],
        ['p50', 'duration_p50_ms', 'second'],
      ],
    },
    {
      title: 'How late attempts started',
      format: timeText,
      lines: [
        ['p95', 'start_lag_p95_ms', 'third'],
        ['p50', 'start_lag_p50_ms', 'second'],
      ],
    },
  ];
  return (
    <div class="usage-plots">
      {plots.map(({ title, format, lines }) => (
        <div key={title} class="panel">
          <Plot
            title={title}
            times={times}
            series={lines.map(([name, figure, kind]) => ({
              name,
              kind,
              values: series.map(interval => interval[figure]),
            }))}
            format={format}
          />
        </div>
      ))}
    </div>
  );
}
