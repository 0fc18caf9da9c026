import { Chip } from '../../../design/chip.tsx';
import type { QuotaBucket } from './quota.ts';

/** What is special about a bucket: its one answer for all requests, or that nothing is left for some proxies. */
export function VerdictChip({
  bucket: { verdict, unserved, more_from: from },
}: {
  readonly bucket: QuotaBucket;
}) {
  if (unserved) return <Chip kind="error">Not limited</Chip>;
  if (verdict === 'deny_all') return <Chip kind="rejected">Denies all</Chip>;
  if (verdict === 'allow_all') return <Chip kind="neutral">Allows all</Chip>;
  return from === null ? null : <Chip kind="near">Used up</Chip>;
}
