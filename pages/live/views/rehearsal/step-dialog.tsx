import { useState } from 'preact/hooks';
import { Field } from '../../../design/field.tsx';
import { formatCount } from '../../../design/format.ts';
import { useChange } from '../../change/change-state.ts';
import { stepCommands } from '../../change/commands.ts';
import { ChangeDone, OperatorForm } from '../../change/frame.tsx';
import type { Rehearsal } from './rehearsal.ts';

type Step = 'promote' | 'restart' | 'stop';

const TITLES: Readonly<Record<Step, string>> = {
  promote: 'Promote the candidate rules',
  restart: 'Begin the rehearsal again',
  stop: 'End the rehearsal',
};
const VERBS: Readonly<Record<Step, string>> = { promote: 'Promote', restart: 'Begin again', stop: 'End' };

interface StepDialogProps {
  readonly step: Step;
  readonly rehearsal: Rehearsal;
  readonly onClose: () => void;
}

/** Promotes the candidate rules, or begins or ends their rehearsal. */
export function StepDialog({ step, rehearsal, onClose }: StepDialogProps) {
  const change = useChange<Rehearsal>();
  const [reason, setReason] = useState('');
  // The candidate that the user sees, also if another one comes while the dialog is open.
  const [id] = useState(rehearsal.id ?? '');
  const effect = effectOf(step, rehearsal);
  if (change.answer !== null) {
    return (
      <ChangeDone title="Done" undo={null} onClose={onClose}>
        <p>{step === 'promote' ? 'The candidate rules are active.' : effect}</p>
      </ChangeDone>
    );
  }
  const why = reason.trim() === '' ? {} : { reason: reason.trim() };
  const submit = () => {
    if (step === 'stop') {
      const query = reason.trim() === '' ? '' : `?${new URLSearchParams(why as { reason: string })}`;
      void change.make({ method: 'DELETE', path: `/rehearsal${query}` });
    } else {
      const body = step === 'promote' ? { id, ...why } : why;
      void change.make({ method: 'POST', path: `/rehearsal/${step}`, body });
    }
  };
  return (
    <OperatorForm
      title={TITLES[step]}
      change={change}
      effect={effect}
      verb={VERBS[step]}
      commands={stepCommands(step, id, reason.trim())}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Reason" hint="For the log; may be empty">
        <input
          type="text"
          maxLength={256}
          value={reason}
          onInput={event => setReason(event.currentTarget.value)}
        />
      </Field>
    </OperatorForm>
  );
}

function effectOf(step: Step, { total }: Rehearsal): string {
  if (step === 'restart') return 'Sets the counters and figures of the rehearsal to 0.';
  if (step === 'stop') return 'Ends the rehearsal. The active rules stay as they are.';
  const change =
    total === null
      ? ''
      : ` In the rehearsal, they rejected ${formatCount(total.more)} more and ${formatCount(total.fewer)} fewer of ${formatCount(total.hits)} hits.`;
  return `Replaces the active rule files by the candidate rules.${change} Keep a copy of the active files to go back.`;
}
