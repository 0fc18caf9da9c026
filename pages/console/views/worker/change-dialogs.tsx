import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { formatCount } from '../../../design/format.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import type { Worker } from '../workers/worker.ts';

interface DialogProps {
  readonly worker: Worker;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const HOUR_MS = 3_600_000;
const PAUSES = { open: 'Until resumed', hour: '1 hour', day: '1 day' } as const;
const PAUSE_MS: Readonly<Record<keyof typeof PAUSES, number | null>> = {
  open: null,
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
};

/** Pauses a worker, or resumes one that is paused. */
export function PauseDialog({ worker, onClose, onDone }: DialogProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [reason, setReason] = useState('');
  const [length, setLength] = useState<keyof typeof PAUSES>('open');
  const { name, paused, health } = worker;
  const ms = PAUSE_MS[length];
  const body = () =>
    paused
      ? { paused: false }
      : {
          paused: true,
          pause_reason: reason === '' ? null : reason,
          resume_at: ms === null ? null : new Date(Date.now() + ms).toISOString(),
        };
  const path = `/workers/${worker.id}`;
  const waiting =
    health === undefined ? 'Its tasks' : `${formatCount(health.waiting)} waiting tasks and new ones`;
  const change = async () => {
    if (!(await make(() => call(path, { method: 'PATCH', body: body() })))) return;
    onClose();
    onDone();
  };
  return (
    <ChangeForm
      title={paused ? `Resume ${name}` : `Pause ${name}`}
      effect={
        paused
          ? 'Its tasks start again when they are due.'
          : `${waiting} do not start while it is paused. Tasks that run now are not stopped.`
      }
      verb={paused ? 'Resume this worker' : 'Pause this worker'}
      isBusy={isBusy}
      fault={faults.whole || Object.values(faults.fields).join(' ')}
      commands={commandsOf(['workers', paused ? 'resume' : 'pause', name], {
        method: 'PATCH',
        path,
        body: body(),
      })}
      onSubmit={() => void change()}
      onClose={onClose}
    >
      {!paused && (
        <>
          <Choices label="For how long" options={PAUSES} value={length} onChoose={setLength} />
          <Field label="Reason" hint="Others see it beside the pause">
            <input value={reason} maxLength={200} onInput={event => setReason(event.currentTarget.value)} />
          </Field>
        </>
      )}
    </ChangeForm>
  );
}

/** Deletes a worker. If it has open tasks, they can be canceled with it. */
export function DeleteDialog({ worker, onClose, onDone }: DialogProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const { name, health } = worker;
  const open = health === undefined ? 0 : health.in_flight + health.waiting + health.paused;
  const path = `/workers/${worker.id}${open > 0 ? '?cancel_tasks=true' : ''}`;
  return (
    <ChangeForm
      title={`Delete ${name}`}
      effect={`Deletes the worker and its secrets. ${
        open > 0 ? `Its ${formatCount(open)} open tasks are canceled.` : 'It has no open tasks.'
      } This cannot be undone.`}
      verb="Delete this worker"
      isDangerous
      isBusy={isBusy}
      fault={faults.whole}
      commands={commandsOf(open > 0 ? null : ['workers', 'delete', name], { method: 'DELETE', path })}
      onSubmit={() => void make(() => call(path, { method: 'DELETE' })).then(isMade => isMade && onDone())}
      onClose={onClose}
    />
  );
}
