import { useState } from 'preact/hooks';
import { Field } from '../../design/field.tsx';
import { useChange } from './change-state.ts';
import { removeCommands } from './commands.ts';
import { concerned } from './effect.ts';
import { ChangeDone, OperatorForm } from './frame.tsx';
import { RECORD_PATHS, type RecordKind, type SteeringRecord } from './record.ts';

const AFTER: Readonly<Record<RecordKind, string>> = {
  override: 'The limit of the rule applies again',
  ban: 'The rules decide again',
  pass: 'The rules decide again',
};

interface RemoveDialogProps {
  readonly record: SteeringRecord;
  readonly onClose: () => void;
}

/** Removes an override, a ban or a pass before it ends. */
export function RemoveDialog({ record, onClose }: RemoveDialogProps) {
  const { id, kind } = record;
  const change = useChange<SteeringRecord>();
  const [reason, setReason] = useState('');
  const effect = `${AFTER[kind]} for ${concerned(record)}.`;
  if (change.answer !== null) {
    return (
      <ChangeDone title="Done" undo={null} onClose={onClose}>
        <p>{effect} All processes that share the store follow within a second.</p>
      </ChangeDone>
    );
  }
  const query = reason.trim() === '' ? '' : `?${new URLSearchParams({ reason: reason.trim() })}`;
  return (
    <OperatorForm
      title={`Undo the ${kind}`}
      change={change}
      effect={effect}
      verb="Undo"
      commands={removeCommands(kind, id)}
      onSubmit={() => void change.make({ method: 'DELETE', path: `/${RECORD_PATHS[kind]}/${id}${query}` })}
      onClose={onClose}
    >
      <Field label="Reason" hint="For the log; may be empty">
        <input
          type="text"
          maxLength={500}
          value={reason}
          onInput={event => setReason(event.currentTarget.value)}
        />
      </Field>
    </OperatorForm>
  );
}
