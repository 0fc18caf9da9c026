import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { Button } from '../button.tsx';
import { formatCount } from '../format.ts';
import { Icon } from '../icon.tsx';
import { THEME_CHANGED } from '../shell/theme.ts';
import { stackedValues } from './stack.ts';

/** The color of a series: a status, or one of six colors without a meaning. */
export type PlotKind =
  | 'allowed'
  | 'near'
  | 'rejected'
  | 'shadow'
  | 'first'
  | 'second'
  | 'third'
  | 'fourth'
  | 'fifth'
  | 'rest';

/** A line or area of a {@link Plot}. */
export interface PlotSeries {
  readonly name: string;
  readonly kind: PlotKind;
  /** One value for each time; null where it is not known. */
  readonly values: readonly (number | null)[];
}

interface PlotProps {
  readonly title: string;
  readonly series: readonly PlotSeries[];
  /** Milliseconds since the epoch, ascending. */
  readonly times: readonly number[];
  /** Whether the series are parts of a whole. */
  readonly stacked?: boolean;
  /** How values are shown; {@link formatCount} if absent. */
  readonly format?: (value: number) => string;
}

const HEIGHT = 184;

/** A plot covers at least this time, also if there are figures of less. */
const MIN_SPAN_S = 600;

/** From this span on, times of day are shown with their day. */
const DAYS_FROM_MS = 86_400_000;

const AREA_OPACITY = 0.42;

/** Maximum number of rows of the table behind a plot. */
const MAX_TABLE_ROWS = 168;

/** A plot over time. The legend shows the values at the pointer, or the latest ones. Its figures are also a table. */
export function Plot({ title, series, times, stacked = false, format = formatCount }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [isTable, showTable] = useState(false);
  const latest = useRef({ series, times, stacked, format });
  latest.current = { series, times, stacked, format };
  const shape = series.map(({ name, kind }) => `${kind} ${name}`).join('\n');

  // A new plot is needed only if its series are others, or the colors.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf(element, latest.current, { timesNow: () => latest.current.times, onPoint: setPointed }),
        dataOf(latest.current),
        element,
      );
    };
    make();
    const observer = new ResizeObserver(() => {
      const { clientWidth: width } = element;
      // 0 behind the table.
      if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
    });
    observer.observe(element);
    addEventListener(THEME_CHANGED, make);
    return () => {
      removeEventListener(THEME_CHANGED, make);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, stacked]);

  useEffect(() => plot.current?.setData(dataOf({ series, times, stacked })), [series, times, stacked]);

  const at = pointed !== null && pointed < times.length ? pointed : times.length - 1;
  return (
    <figure class="plot">
      <figcaption class="plot-head">
        <span class="plot-title">{title}</span>
        <span class="plot-time">{at >= 0 ? timeText(times, at) : ''}</span>
        <Button
          kind="quiet"
          size="icon"
          label="Show the figures as a table"
          pressed={isTable}
          onClick={() => showTable(!isTable)}
        >
          <Icon name="table" />
        </Button>
      </figcaption>
      <ul class="legend">
        {series.map(({ name, kind, values }) => (
          <li key={name}>
            <span class={`swatch swatch-${kind}`} aria-hidden="true" />
            <span class="legend-name">{name}</span>
            <span class="legend-value">{valueText(values[at], format)}</span>
          </li>
        ))}
      </ul>
      <div ref={box} class="plot-canvas" aria-hidden="true" hidden={isTable} />
      {isTable && <FigureTable title={title} series={series} times={times} format={format} />}
    </figure>
  );
}

type Drawn = Pick<PlotProps, 'series' | 'times' | 'stacked'>;

function FigureTable({ title, series, times, format }: Required<Omit<PlotProps, 'stacked'>>) {
  const from = Math.max(0, times.length - MAX_TABLE_ROWS);
  const indexes = times.slice(from).map((_, i) => from + i);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolls by keyboard
    <section class="table-frame plot-rows" aria-label={`${title}, as a table`} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="cell-number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {indexes.reverse().map(i => (
            <tr key={times[i]}>
              <th scope="row">{timeText(times, i)}</th>
              {series.map(({ name, values }) => (
                <td key={name} class="cell-number">
                  {valueText(values[i], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const TIME_WITH_ZONE = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' });

/** Whether the times are of several days. */
function areDays(times: readonly number[]): boolean {
  return (times.at(-1) ?? 0) - (times[0] ?? 0) >= DAYS_FROM_MS;
}

/** The time at this index. */
function timeText(times: readonly number[], at: number): string {
  const text = TIME_WITH_ZONE.format(times[at]);
  return areDays(times) ? `${DAY.format(times[at])}, ${text}` : text;
}

/** A time of an axis, as short as can be: of several days, those at midnight are the day. */
function splitText(seconds: number, times: readonly number[]): string {
  const text = TIME.format(seconds * 1000).slice(0, 5);
  return areDays(times) && text === '00:00' ? DAY.format(seconds * 1000) : text;
}

function dataOf({ series, times, stacked }: Drawn): uPlot.AlignedData {
  const values = series.map(each => each.values);
  return [times.map(ms => ms / 1000), ...(stacked ? stackedValues(values) : values.map(each => [...each]))];
}

/** From the first to the last time in seconds, and at least {@link MIN_SPAN_S}. */
function spanOf(times: readonly number[]): [number, number] {
  const end = (times.at(-1) ?? Date.now()) / 1000;
  return [Math.min((times[0] ?? Date.now()) / 1000, end - MIN_SPAN_S), end];
}

/** A canvas needs the color of the scheme that is active, which is that of the swatch in the legend. */
function colorOf(element: HTMLElement, kind: PlotKind): string {
  const swatch = element.parentElement?.querySelector(`.swatch-${kind}`);
  return swatch ? getComputedStyle(swatch).backgroundColor : 'rgb(128, 128, 128)';
}

/** Indexes of values without a neighbor. */
function lonely(values: uPlot.AlignedData[number]): number[] {
  const indexes: number[] = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) indexes.push(i);
  }
  return indexes;
}

interface PlotCalls {
  readonly timesNow: () => readonly number[];
  /** Called with the index that the pointer is at; null if it is elsewhere. */
  readonly onPoint: (index: number | null) => void;
}

function optionsOf(
  element: HTMLElement,
  { series, stacked, format = formatCount }: Omit<PlotProps, 'title' | 'times'>,
  { timesNow, onPoint }: PlotCalls,
): uPlot.Options {
  const style = getComputedStyle(element);
  const axis = {
    stroke: style.color,
    font: `11px ${style.fontFamily}`,
    grid: { stroke: style.borderTopColor, width: 1 },
    ticks: { show: false },
  };
  const colors = series.map(({ kind }) => colorOf(element, kind));
  const areas = colors.map(color => color.replace(/^rgb\((.*)\)$/, `rgba($1, ${AREA_OPACITY})`));
  const lines = series.map(({ name }, i) => ({
    label: name,
    stroke: colors[i],
    width: stacked ? 1 : 1.5,
    // A line of one figure would not be seen.
    points: {
      show: (made: uPlot, of: number) => lonely(made.data[of]).length > 0,
      filter: (made: uPlot, of: number) => lonely(made.data[of]),
      size: 6,
      fill: colors[i],
    },
    ...(stacked && { fill: areas[i] }),
  }));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 16, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      // For a single figure, uPlot would show a day.
      x: { range: () => spanOf(timesNow()) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        values: (_, splits) => splits.map(split => splitText(split, timesNow())),
      },
      { ...axis, size: 52, values: (_, splits) => splits.map(split => format(split)) },
    ],
    series: [{}, ...lines],
    // Between the sum up to a series and the sum up to the one before.
    ...(stacked && {
      bands: areas.slice(1).map((fill, i) => ({ series: [i + 2, i + 1] as [number, number], fill })),
    }),
    hooks: { setCursor: [made => onPoint(made.cursor.idx ?? null)] },
  };
}
