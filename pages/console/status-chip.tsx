import { Chip, type ChipKind } from '../design/chip.tsx';
import type { TaskStatus } from '../service/task-status.ts';

const KINDS: Readonly<Record<TaskStatus, ChipKind>> = {
  scheduled: 'neutral',
  running: 'active',
  retry: 'near',
  paused: 'shadow',
  succeeded: 'allowed',
  failed: 'rejected',
  canceled: 'neutral',
  expired: 'rejected',
};

/** The status of a task. */
export function StatusChip({ status }: { readonly status: TaskStatus }) {
  return <Chip kind={KINDS[status]}>{status}</Chip>;
}
