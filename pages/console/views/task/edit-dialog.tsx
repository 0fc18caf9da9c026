import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Field } from '../../../design/field.tsx';
import { PRIORITIES } from '../../api.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { isoTime, localTime, NO_TIME } from '../../change/local-time.ts';
import { prettyJson } from '../../exact-json.ts';
import { useAllowed, useCall } from '../../session.ts';
import type { WholeTask } from './whole-task.ts';

interface EditDialogProps {
  readonly task: WholeTask;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** What the user writes. */
interface Draft {
  /** The value of an input of the type `datetime-local`, in the zone of the browser. */
  readonly runAt: string;
  readonly priority: string;
  readonly tags: string;
  readonly type: string;
  readonly maxAttempts: string;
  /** JSON text; null if the caller cannot see it, or it is not JSON. */
  readonly payload: string | null;
}

/** Changes the fields of a task that has not ended. Nobody else's change is overwritten: the version must be the same. */
export function EditDialog({ task, onClose, onChanged }: EditDialogProps) {
  const call = useCall();
  const maySee = useAllowed('tasks:payload');
  const { make, isBusy, faults, setFaults } = useAction();
  const [first] = useState(() => draftOf(task, maySee));
  const [draft, setDraft] = useState(first);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const fields = changedFields(first, draft);
  const isRunning = task.status === 'running';
  const isTime = draft.runAt === '' || isoTime(draft.runAt) !== null;
  const submit = async () => {
    const text = bodyText(first, draft, fields);
    if (text === null) return setFaults({ fields: { payload: 'This is not JSON.' }, whole: '' });
    const isMade = await make(() =>
      call(`/tasks/${task.id}`, { method: 'PATCH', text, headers: { 'If-Match': `"${task.version}"` } }),
    );
    if (!isMade) return;
    onClose();
    onChanged();
  };
  const names = [...Object.keys(fields), ...(draft.payload === first.payload ? [] : ['payload'])];
  const error = (name: string) => (faults.fields[name] === undefined ? {} : { error: faults.fields[name] });
  return (
    <ChangeForm
      title="Edit this task"
      effect={names.length === 0 ? 'Nothing is changed yet.' : `Changes ${names.join(', ')} of this task.`}
      verb="Change this task"
      isBusy={isBusy}
      isIncomplete={names.length === 0 || !isTime}
      fault={faults.whole}
      commands={
        draft.payload === first.payload
          ? commandsOf(null, { method: 'PATCH', path: `/tasks/${task.id}`, body: fields })
          : null
      }
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {!isRunning && (
        <>
          <Field
            label="Run at"
            hint={`In your time zone, ${zone()}`}
            {...(isTime ? error('run_at') : { error: NO_TIME })}
          >
            <input
              type="datetime-local"
              step="1"
              value={draft.runAt}
              onInput={event => set({ runAt: event.currentTarget.value })}
            />
          </Field>
          <Field label="Priority" {...error('priority')}>
            <select value={draft.priority} onChange={event => set({ priority: event.currentTarget.value })}>
              {PRIORITIES.map(each => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </Field>
          <Field label="Type" {...error('type')}>
            <input
              value={draft.type}
              maxLength={128}
              onInput={event => set({ type: event.currentTarget.value })}
            />
          </Field>
        </>
      )}
      <Field label="Tags" hint="Separated by commas" {...error('tags')}>
        <input
          value={draft.tags}
          maxLength={700}
          onInput={event => set({ tags: event.currentTarget.value })}
        />
      </Field>
      <Field label="Maximum number of attempts" {...error('retry')}>
        <input
          type="number"
          min={1}
          max={100}
          value={draft.maxAttempts}
          onInput={event => set({ maxAttempts: event.currentTarget.value })}
        />
      </Field>
      {draft.payload !== null && !isRunning && (
        <Field label="Payload" hint="JSON" {...error('payload')}>
          <textarea
            class="code"
            rows={10}
            spellcheck={false}
            value={draft.payload}
            onInput={event => set({ payload: event.currentTarget.value })}
          />
        </Field>
      )}
    </ChangeForm>
  );
}

function draftOf(task: WholeTask, maySee: boolean): Draft {
  return {
    runAt: localTime(task.run_at),
    priority: task.priority,
    tags: task.tags.join(', '),
    type: task.type ?? '',
    maxAttempts: String(task.max_attempts),
    payload: maySee && task.payload_base64 === undefined ? prettyJson(task.payload ?? null) : null,
  };
}

/** Without the payload, whose numbers must stay as they are written. */
function changedFields(first: Draft, draft: Draft): Record<string, unknown> {
  const tags = draft.tags.split(',').map(tag => tag.trim());
  return {
    ...(draft.runAt !== first.runAt && draft.runAt !== '' && { run_at: isoTime(draft.runAt) }),
    ...(draft.priority !== first.priority && { priority: draft.priority }),
    ...(draft.type !== first.type && { type: draft.type === '' ? null : draft.type }),
    ...(draft.tags !== first.tags && { tags: tags.filter(tag => tag !== '') }),
    ...(draft.maxAttempts !== first.maxAttempts && { retry: { max_attempts: Number(draft.maxAttempts) } }),
  };
}

/** The body of the change; null if the payload is not JSON. */
function bodyText(first: Draft, draft: Draft, fields: Readonly<Record<string, unknown>>): string | null {
  const text = JSON.stringify(fields);
  if (draft.payload === null || draft.payload === first.payload) return text;
  try {
    JSON.parse(draft.payload);
  } catch {
    return null;
  }
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"payload":${draft.payload}}`;
}

function zone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
