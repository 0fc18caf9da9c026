import { Choices } from '../../../design/choices.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { usePolled } from '../../polled.ts';
import { useSession } from '../../session.ts';
import { isIdle, RANGES, rangeOf, type Usage, usagePath } from './usage.ts';
import { UsagePlots } from './usage-plots.tsx';
import { UsageTiles } from './usage-tiles.tsx';
import { UsedLimits } from './used-limits.tsx';

/** Minutes change while somebody watches, hours hardly do. */
const POLLED_MS = { '1h': 5_000, '24h': 30_000, '7d': 30_000 } as const;

/** What the account, or one of its workers, has done over time, and how close it is to its limits. */
export function UsageView() {
  const { query } = useRoute();
  const { me } = useSession();
  const range = rangeOf(query['range']);
  const { worker = '' } = query;
  const { answer, error, reload } = usePolled<Usage>(usagePath(range, worker), { everyMs: POLLED_MS[range] });
  return (
    <>
      <header class="view-head">
        <div>
          <h1>How busy is {worker === '' ? me.account.domain : (answer?.worker?.name ?? worker)}?</h1>
          {worker !== '' && (
            <p>
              <Link query={{ view: 'usage', range }}>Show all workers</Link>
            </p>
          )}
        </div>
        <Choices
          label="Range"
          options={RANGES}
          value={range}
          onChoose={chosen => navigate('/', { view: 'usage', range: chosen, worker })}
        />
      </header>
      {answer === null && error === null && (
        <div class="panel">
          <Skeleton lines={12} />
        </div>
      )}
      {answer === null && error !== null && (
        <div class="panel">
          <Failure error={error} onRetry={reload} />
        </div>
      )}
      {answer !== null && <Shown usage={answer} />}
    </>
  );
}

function Shown({ usage }: { readonly usage: Usage }) {
  return (
    <>
      {!isIdle(usage) && <UsageTiles usage={usage} />}
      <div class="usage-columns">
        {isIdle(usage) ? <Idle /> : <UsagePlots usage={usage} />}
        <UsedLimits limits={usage.limits} />
      </div>
    </>
  );
}

function Idle() {
  return (
    <div class="panel">
      <Empty title="Nothing has happened in this time">
        <p>Rates, failures and latencies appear here a few seconds after tasks are created or started.</p>
        <p>
          <Link query={{ view: 'tasks' }}>Show the tasks</Link>
        </p>
      </Empty>
    </div>
  );
}
