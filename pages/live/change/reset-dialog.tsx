import { useState } from 'preact/hooks';
import { formatCount } from '../../design/format.ts';
import { type Counters, useCounters } from '../counters.ts';
import { type Descriptor, descriptorText } from '../descriptor.ts';
import { useChange } from './change-state.ts';
import { resetCommands } from './commands.ts';
import { concerned } from './effect.ts';
import { ChangeDone, OperatorForm } from './frame.tsx';
import { NO_REASON, ReasonField } from './reason-field.tsx';

interface ResetDialogProps {
  readonly descriptor: Descriptor;
  readonly onClose: () => void;
}

/** Resets the counters of one descriptor. What was counted is lost, so it shows what that is. */
export function ResetDialog({ descriptor, onClose }: ResetDialogProps) {
  const change = useChange<Counters>();
  const [reason, setReason] = useState('');
  const { answer } = useCounters(change.answer === null ? descriptor : null);
  if (change.answer !== null) {
    return (
      <ChangeDone title="Done" undo={null} onClose={onClose}>
        <p>The counters of {descriptorText(descriptor.entries)} begin again at 0.</p>
        <p>Before: {countsText(change.answer)}.</p>
      </ChangeDone>
    );
  }
  const submit = () => {
    if (reason.trim() === '') {
      change.setFaults(NO_REASON);
    } else {
      void change.make({
        method: 'POST',
        path: '/counters/reset',
        body: { ...descriptor, reason: reason.trim() },
      });
    }
  };
  const counts = answer === null ? '' : ` Present counts: ${countsText(answer)}.`;
  return (
    <OperatorForm
      title="Reset counters"
      change={change}
      effect={`Sets the counters of ${concerned(descriptor)} to 0, in all processes that share the store. This cannot be undone.${counts}`}
      verb="Reset"
      isDangerous
      commands={resetCommands(descriptor, reason.trim())}
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

function countsText({ counters, why }: Counters): string {
  if (counters.length === 0) return why;
  return counters
    .map(({ count, requests_per_unit: limit, rule }) =>
      count === null
        ? `${rule ?? 'limit of the request'}: unknown`
        : `${formatCount(count)} of ${formatCount(limit)}`,
    )
    .join('; ');
}
