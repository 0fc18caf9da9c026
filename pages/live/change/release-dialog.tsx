import { useState } from 'preact/hooks';
import { formatCount } from '../../design/format.ts';
import type { Descriptor } from '../descriptor.ts';
import { useChange } from './change-state.ts';
import { releaseCommands } from './commands.ts';
import { concerned } from './effect.ts';
import { ChangeDone, OperatorForm } from './frame.tsx';
import { NO_REASON, ReasonField } from './reason-field.tsx';

interface ReleaseDialogProps {
  readonly descriptor: Descriptor;
  readonly holder: string;
  readonly onClose: () => void;
}

/** The answer of `POST /leases/release`. */
interface Released {
  readonly limits: readonly { readonly rule: string | null; readonly hits: number }[];
}

/** Releases the lease of one holder. */
export function ReleaseDialog({ descriptor, holder, onClose }: ReleaseDialogProps) {
  const change = useChange<Released>();
  const [reason, setReason] = useState('');
  if (change.answer !== null) {
    return (
      <ChangeDone title="Done" undo={null} onClose={onClose}>
        <p>The lease of {holder} was released.</p>
        <p>It held: {heldText(change.answer)}.</p>
      </ChangeDone>
    );
  }
  const submit = () => {
    if (reason.trim() === '') change.setFaults(NO_REASON);
    else {
      const body = { ...descriptor, holder, reason: reason.trim() };
      void change.make({ method: 'POST', path: '/leases/release', body });
    }
  };
  return (
    <OperatorForm
      title="Release lease"
      change={change}
      effect={`Frees what ${holder} holds of the limits of ${concerned(descriptor)}, in all processes that share the store. Nothing is spent. If the holder still runs, it runs without a lease.`}
      verb="Release"
      isDangerous
      commands={releaseCommands(descriptor, holder, reason.trim())}
      onSubmit={submit}
      onClose={onClose}
    >
      <ReasonField
        reason={reason}
        hint="For the log"
        error={change.faults.fields['reason']}
        onChange={setReason}
      />
    </OperatorForm>
  );
}

function heldText({ limits }: Released): string {
  return limits.map(({ rule, hits }) => `${formatCount(hits)} of ${rule ?? 'the limit'}`).join(', ');
}
