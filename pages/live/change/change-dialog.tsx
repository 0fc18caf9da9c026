import type { Descriptor } from '../descriptor.ts';
import type { RecordKind } from './record.ts';
import { RecordDialog } from './record-dialog.tsx';
import { ResetDialog } from './reset-dialog.tsx';

/** A change that the user has begun. */
export interface Changing {
  readonly kind: RecordKind | 'reset';
  readonly descriptor: Descriptor;
  /** The limit of the rule, if it is known. */
  readonly limit?: number;
}

interface ChangeDialogProps {
  readonly changing: Changing;
  /** Called when the dialog closes, whether or not something was changed. */
  readonly onClose: () => void;
}

/** The dialog of a change. */
export function ChangeDialog({ changing, onClose }: ChangeDialogProps) {
  const { kind, ...rest } = changing;
  return kind === 'reset' ? (
    <ResetDialog {...rest} onClose={onClose} />
  ) : (
    <RecordDialog kind={kind} {...rest} onClose={onClose} />
  );
}
