import type { ComponentChildren } from 'preact';
import { formatMs, formatRate, formatShare } from '../../../design/format.ts';
import { Sparkline } from '../../../design/plots/sparkline.tsx';
import type { RatePoint } from '../../api.ts';
import { useLive } from '../../live-state.ts';
import { perSecond, thinned } from '../../outcomes.ts';

/** One point for each minute. */
const SPARK_POINTS = 60;

/** The rates of the last seconds, each with the last hour behind it, and the latency. */
export function Tiles({ points }: { readonly points: readonly RatePoint[] }) {
  const { rates, status } = useLive();
  const now = rates ?? points.at(-1);
  const { hits, refused, near_limit, shadow_refused } =
    now === undefined ? { hits: 0, refused: 0, near_limit: 0, shadow_refused: 0 } : perSecond(now);
  const spark = (figure: 'hits' | 'refused' | 'near_limit' | 'shadow_refused') =>
    thinned(
      points.map(point => perSecond(point)[figure]),
      SPARK_POINTS,
    );
  return (
    <div class="tiles">
      <Tile title="Hits" figure={formatRate(hits)} note="all limits together">
        <Sparkline values={spark('hits')} label="Hits per second in the last hour" />
      </Tile>
      <Tile title="Rejected" figure={formatRate(refused)} note={`${formatShare(refused, hits)} of hits`}>
        <Sparkline values={spark('refused')} label="Rejected per second in the last hour" kind="rejected" />
      </Tile>
      <Tile
        title="Near limit"
        figure={formatRate(near_limit)}
        note={`${formatShare(near_limit, hits)} of hits`}
      >
        <Sparkline values={spark('near_limit')} label="Near limit per second in the last hour" kind="near" />
      </Tile>
      <Tile
        title="Shadow"
        figure={formatRate(shadow_refused)}
        note={`would reject ${formatShare(shadow_refused, hits)}`}
      >
        <Sparkline
          values={spark('shadow_refused')}
          label="Rejected in shadow mode per second in the last hour"
          kind="shadow"
        />
      </Tile>
      <Tile
        title="Decision time"
        figure={msOf(status?.latency.decision.p50_ms)}
        note={`99 % within ${msOf(status?.latency.decision.p99_ms)}`}
      />
    </div>
  );
}

function msOf(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? '–' : formatMs(ms);
}

interface TileProps {
  readonly title: string;
  readonly figure: string;
  readonly note: string;
  readonly children?: ComponentChildren;
}

function Tile({ title, figure, note, children }: TileProps) {
  return (
    <section class="panel tile" aria-label={title}>
      <h2 class="tile-title">{title}</h2>
      <p class="tile-figure">{figure}</p>
      <p class="tile-note">{note}</p>
      <div class="tile-spark">{children}</div>
    </section>
  );
}
