import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { formatCount } from '../../../design/format.ts';
import { useSession } from '../../session.ts';
import { type BulkAction, BulkDialog, type Targets } from './bulk-dialog.tsx';

interface BulkButtonsProps {
  readonly filter: Readonly<Record<string, string>>;
  /** Ids of the chosen tasks. If there are none, the actions are for all that match the filter. */
  readonly chosen: ReadonlySet<string>;
  /** Called when the chosen tasks were changed. */
  readonly onDone: () => void;
}

/** Actions for many tasks. Each opens a dialog that first counts what would change. */
export function BulkButtons({ filter, chosen, onDone }: BulkButtonsProps) {
  const { role } = useSession().me;
  const [open, setOpen] = useState<BulkAction | null>(null);
  const targets: Targets = chosen.size > 0 ? { ids: [...chosen] } : { filter };
  const mayDelete = role === 'owner' || role === 'admin';
  const actions: readonly (readonly [BulkAction, string])[] = [
    ['retry', 'Retry'],
    ['run', 'Run now'],
    ['pause', 'Pause'],
    ['resume', 'Resume'],
    ['cancel', 'Cancel'],
    ...(mayDelete ? [['delete', 'Delete'] as const] : []),
  ];
  return (
    <fieldset class="bulk" aria-label="Actions for many tasks">
      <span class="quiet">{chosen.size > 0 ? `${formatCount(chosen.size)} chosen` : 'All that match'}</span>
      {actions.map(([action, text]) => (
        <Button key={action} size="small" onClick={() => setOpen(action)}>
          {text}…
        </Button>
      ))}
      {open !== null && (
        <BulkDialog
          action={open}
          targets={targets}
          onClose={isDone => {
            setOpen(null);
            if (isDone) onDone();
          }}
        />
      )}
    </fieldset>
  );
}
