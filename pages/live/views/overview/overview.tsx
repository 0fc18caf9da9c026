import { Failure, Skeleton } from '../../../design/states.tsx';
import type { RatePoint } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import { HourPlots } from './hour-plots.tsx';
import { LastRejections } from './last-rejections.tsx';
import { ServicePanels } from './service-panels.tsx';
import { Tiles } from './tiles.tsx';
import { TopLimits } from './top-limits.tsx';

/** The service adds a point every ten seconds. */
const POINT_MS = 10_000;

/** What is being rejected right now, by which limits, and how the service is. */
export function Overview() {
  const { answer, error, reload } = usePolled<{ readonly points: readonly RatePoint[] }>('/rates', {
    everyMs: POINT_MS,
  });
  return (
    <>
      <h1>What is being rejected right now?</h1>
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer === null && error === null && <Skeleton lines={6} />}
      {answer !== null && <Tiles points={answer.points} />}
      {answer !== null && <HourPlots points={answer.points} />}
      <div class="overview-lists">
        <TopLimits />
        <LastRejections />
      </div>
      <ServicePanels />
    </>
  );
}
