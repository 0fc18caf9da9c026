import type { Descriptor } from '../descriptor.ts';
import type { RecordKind } from './record.ts';
import { RecordDialog } from './record-dialog.tsx';
import { ReleaseDialog } from './release-dialog.tsx';
import { ResetDialog } from './reset-dialog.tsx';

/** A change that the user has begun. */
export interface Changing {
  readonly kind: RecordKind | 'reset' | 'release';
  readonly descriptor: Descriptor;
  /** The limit of the rule, if it is known. */
  readonly limit?: number;
  /** The holder whose lease is released. */
  readonly holder?: string;
}

interface ChangeDialogProps {
  readonly changing: Changing;
  /** Called when the dialog closes, whether or not something was changed. */
  readonly onClose: () => void;
}

/** The dialog of a change. */
export function ChangeDialog({ changing, onClose }: ChangeDialogProps) {
  const { kind, holder = '', ...rest } = changing;
  if (kind === 'release') return <ReleaseDialog {...rest} holder={holder} onClose={onClose} />;
  if (kind === 'reset') return <ResetDialog {...rest} onClose={onClose} />;
  return <RecordDialog kind={kind} {...rest} onClose={onClose} />;
}
