import { useState } from 'preact/hooks';
import { Link, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import type { Limit, LimitDetails, LimitList } from '../../api.ts';
import { ChangeDialog, type Changing } from '../../change/change-dialog.tsx';
import { usePolled } from '../../polled.ts';
import { Definition } from './definition.tsx';
import { HotKeys } from './hot-keys.tsx';
import { LimitHead } from './limit-head.tsx';
import { LimitHistory } from './limit-history.tsx';
import { LimitRecords } from './limit-records.tsx';
import { LimitRejections } from './limit-rejections.tsx';

/** A limit: what it means, how it is used and by whom, and what can be changed. */
export function LimitPage() {
  const { query } = useRoute();
  const { path = '' } = query;
  const { answer, error, reload } = usePolled<LimitList>(
    path === '' ? null : `/limits?${new URLSearchParams({ path, sort: 'rules' })}`,
    { everyMs: 0 },
  );
  if (path === '') return <NoLimit path={path} />;
  if (answer === null && error !== null) return <Failure error={error} onRetry={reload} />;
  if (answer === null) return <Skeleton lines={12} />;
  if (answer.limits.length === 0) return <NoLimit path={path} />;
  const chosen = chosenOf(answer.limits, query['as']);
  return <OneLimit key={chosen.number} limits={answer.limits} chosen={chosen} reload={reload} />;
}

/** Several limits of a rule have the same path if they have no names. */
function chosenOf(limits: readonly Limit[], meaning: string | undefined): Limit {
  return limits.find(limit => limit.meaning === meaning) ?? limits[0];
}

interface OneLimitProps {
  readonly limits: readonly Limit[];
  readonly chosen: Limit;
  /** Finds the limit again, whose number changes when rules are loaded. */
  readonly reload: () => void;
}

function OneLimit({ limits, chosen, reload }: OneLimitProps) {
  const { number, path } = chosen;
  const { answer, error } = usePolled<LimitDetails>(`/limits/${number}`);
  const [changing, change] = useState<Changing | null>(null);
  const [changes, setChanges] = useState(0);
  if (answer !== null && answer.path !== path) reload();
  if (error?.status === 404) reload();
  if (answer === null) return error === null ? <Skeleton lines={12} /> : <Failure error={error} />;
  return (
    <>
      <LimitHead limits={limits} chosen={answer} onChange={change} />
      <LimitHistory limit={answer} />
      <LimitRecords key={changes} limit={answer} />
      <div class="limit-lists">
        <HotKeys limit={answer} onChange={change} />
        <LimitRejections limit={answer} />
      </div>
      <Definition limit={answer} />
      {changing !== null && (
        <ChangeDialog
          changing={changing}
          onClose={() => {
            change(null);
            setChanges(count => count + 1);
          }}
        />
      )}
    </>
  );
}

function NoLimit({ path }: { readonly path: string }) {
  return (
    <Empty title={path === '' ? 'No limit is chosen' : `There is no limit ${path}`}>
      {path !== '' && 'The rules may have changed. '}
      <Link query={{ view: 'limits' }}>Look for it in all limits</Link>
    </Empty>
  );
}
