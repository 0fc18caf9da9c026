import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Field } from '../../../design/field.tsx';
import type { ApiCall } from '../../../service/call.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import type { Schedule } from '../schedules/schedule.ts';

export type ScheduleAction = 'trigger' | 'pause' | 'resume' | 'delete';

const WORDS: Readonly<Record<ScheduleAction, { readonly verb: string; readonly effect: string }>> = {
  trigger: {
    verb: 'Trigger now',
    effect:
      'Creates a task now, in addition to the times of the schedule, even if it is paused or the last task still runs.',
  },
  pause: {
    verb: 'Pause this schedule',
    effect: 'It creates no tasks until it is resumed. Its open tasks are not changed.',
  },
  resume: {
    verb: 'Resume this schedule',
    effect: 'It creates tasks again at its times. Times during the pause are not made up for.',
  },
  delete: {
    verb: 'Delete this schedule',
    effect: 'It is deleted, which cannot be undone. Its tasks are kept.',
  },
};

interface ScheduleDialogProps {
  readonly action: ScheduleAction;
  readonly schedule: Schedule;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks before a change of a schedule, and makes it. */
export function ScheduleDialog({ action, schedule, onClose, onDone }: ScheduleDialogProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [reason, setReason] = useState('');
  const { verb, effect } = WORDS[action];
  const { path, ...request } = requestOf(action, schedule.id, reason);
  return (
    <ChangeForm
      title={`${verb.split(' ')[0]} ${schedule.name}`}
      effect={effect}
      verb={verb}
      isDangerous={action === 'delete'}
      isBusy={isBusy}
      fault={faults.whole || Object.values(faults.fields).join(' ')}
      commands={commandsOf(['schedules', action, schedule.name], { path, ...request })}
      onSubmit={() => void make(() => call(path, request)).then(isMade => isMade && onDone())}
      onClose={onClose}
    >
      {action === 'pause' && (
        <Field label="Reason" hint="Others see it beside the pause">
          <input value={reason} maxLength={200} onInput={event => setReason(event.currentTarget.value)} />
        </Field>
      )}
    </ChangeForm>
  );
}

interface ScheduleRequest extends Pick<ApiCall, 'body'> {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
}

function requestOf(action: ScheduleAction, id: string, reason: string): ScheduleRequest {
  const path = `/schedules/${id}`;
  switch (action) {
    case 'trigger':
      return { method: 'POST', path: `${path}/trigger` };
    case 'pause':
      return {
        method: 'PATCH',
        path,
        body: { paused: true, ...(reason !== '' && { pause_reason: reason }) },
      };
    case 'resume':
      return { method: 'PATCH', path, body: { paused: false } };
    case 'delete':
      return { method: 'DELETE', path };
  }
}
