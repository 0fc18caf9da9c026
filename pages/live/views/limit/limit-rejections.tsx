import { Panel } from '../../../design/panel.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import type { LimitDetails, Refusal } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import { RejectionList } from '../../rejection-list.tsx';

const COUNT = 12;

/** The last rejections by this limit. */
export function LimitRejections({ limit }: { readonly limit: LimitDetails }) {
  const { answer, error, reload } = usePolled<{ readonly refusals: readonly Refusal[] }>(
    `/limits/${limit.number}/refusals?limit=${COUNT}`,
  );
  return (
    <Panel title="Last rejections" flush>
      {answer === null && error === null && <Skeleton lines={6} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer !== null && answer.refusals.length === 0 && (
        <Empty title="No recorded rejections">Only the latest rejections of all limits are kept.</Empty>
      )}
      {answer !== null && answer.refusals.length > 0 && (
        <RejectionList rejections={answer.refusals} isOneLimit />
      )}
    </Panel>
  );
}
