import { Chip } from '../../design/chip.tsx';
import { formatCount } from '../../design/format.ts';
import type { SteeringRecord } from './record.ts';

/** What a record does, as a status. */
export function RecordChip({ record }: { readonly record: SteeringRecord }) {
  if (record.kind === 'ban') return <Chip kind="rejected">Ban</Chip>;
  if (record.kind === 'pass') return <Chip kind="allowed">Pass</Chip>;
  const { requests_per_unit: limit, factor = 1 } = record;
  return (
    <Chip kind="neutral">
      {limit === undefined ? `Limit × ${formatCount(factor)}` : `Limit ${formatCount(limit)}`}
    </Chip>
  );
}
