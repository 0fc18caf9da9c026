import { Failure, Skeleton } from '../../../design/states.tsx';
import type { RatePoint } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import { HitsByOutcome } from './hits-by-outcome.tsx';
import { LastRejections } from './last-rejections.tsx';
import { RejectionsByLimit } from './rejections-by-limit.tsx';
import { Instances, LatencyPanel, StorePanel } from './service-panels.tsx';
import { Tiles } from './tiles.tsx';
import { TopLimits } from './top-limits.tsx';

/** The service adds a point every ten seconds. */
const POINT_MS = 10_000;

/** What is being rejected right now, by which limits, and how the service is. The answer comes first. */
export function Overview() {
  const { answer, error, reload } = usePolled<{ readonly points: readonly RatePoint[] }>('/rates', {
    everyMs: POINT_MS,
  });
  return (
    <>
      <h1>What is being rejected right now?</h1>
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer === null && error === null && <Skeleton lines={3} />}
      {answer !== null && <Tiles points={answer.points} />}
      <div class="overview-now">
        <RejectionsByLimit />
        <LastRejections />
      </div>
      <TopLimits />
      <div class="overview-service">
        {answer !== null && <HitsByOutcome points={answer.points} />}
        <StorePanel />
        <LatencyPanel />
      </div>
      <Instances />
    </>
  );
}
