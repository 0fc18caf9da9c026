import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { isJsonText } from '../../change/json-text.ts';
import { useCall } from '../../session.ts';
import { Preview, type Timing } from './preview.tsx';
import { ownZone } from './schedule.ts';

interface NewScheduleProps {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** Creates a schedule, and shows its next times while the user writes. */
export function NewSchedule({ onClose, onCreated }: NewScheduleProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [draft, setDraft] = useState({
    name: '',
    worker: '',
    kind: 'cron' as 'cron' | 'every',
    cron: '0 3 * * *',
    every: '15m',
    timezone: ownZone(),
    payload: '',
  });
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const timing: Timing =
    draft.kind === 'cron'
      ? { cron: draft.cron, timezone: draft.timezone }
      : { every: draft.every, timezone: draft.timezone };
  const { name, worker, payload } = draft;
  const isJson = payload === '' || isJsonText(payload);
  const rest = JSON.stringify({ name, worker, ...timing });
  // The numbers of a payload stay as they are written.
  const text = `${rest.slice(0, -1)},"task":{${payload === '' ? '' : `"payload":${payload}`}}}`;
  const isIncomplete = name === '' || worker === '' || !isJson;
  const create = async () => {
    const { id } = await call<{ readonly id: string }>('/schedules', { method: 'POST', text });
    onCreated(id);
  };
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title="New schedule"
      effect={
        isIncomplete
          ? null
          : `Creates the schedule ${name}, which creates a task for ${worker} at each of these times.`
      }
      verb="Create this schedule"
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole}
      commands={
        isIncomplete || payload !== ''
          ? null
          : commandsOf(
              [
                'schedules',
                'create',
                name,
                worker,
                ...Object.entries(timing).flatMap(([flag, value]) => [`--${flag}`, value]),
              ],
              { method: 'POST', path: '/schedules', body: JSON.parse(text) },
            )
      }
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <div class="form-pair">
        <Field label="Name" {...error('name')}>
          <input
            value={name}
            maxLength={63}
            required
            onInput={event => set({ name: event.currentTarget.value.trim() })}
          />
        </Field>
        <Field label="Worker" {...error('worker')}>
          <input
            value={worker}
            maxLength={63}
            required
            onInput={event => set({ worker: event.currentTarget.value.trim() })}
          />
        </Field>
      </div>
      <Choices
        label="When"
        options={{ cron: 'At times', every: 'At intervals' }}
        value={draft.kind}
        onChoose={kind => set({ kind })}
      />
      <div class="form-pair">
        {draft.kind === 'cron' ? (
          <Field label="Cron expression" hint="minute hour day month weekday" {...error('cron')}>
            <input
              class="code"
              value={draft.cron}
              maxLength={255}
              onInput={event => set({ cron: event.currentTarget.value })}
            />
          </Field>
        ) : (
          <Field label="Interval" hint="15m, 1h30m, 1d" {...error('every')}>
            <input
              value={draft.every}
              maxLength={64}
              onInput={event => set({ every: event.currentTarget.value.trim() })}
            />
          </Field>
        )}
        <Field label="Time zone" hint="Such as Europe/Berlin" {...error('timezone')}>
          <input
            value={draft.timezone}
            maxLength={64}
            onInput={event => set({ timezone: event.currentTarget.value.trim() })}
          />
        </Field>
      </div>
      <Preview timing={timing} />
      <Field
        label="Payload"
        hint="JSON; empty for none"
        {...(isJson ? error('task') : { error: 'This is not JSON.' })}
      >
        <textarea
          class="code"
          rows={4}
          spellcheck={false}
          value={payload}
          onInput={event => set({ payload: event.currentTarget.value })}
        />
      </Field>
    </ChangeForm>
  );
}
