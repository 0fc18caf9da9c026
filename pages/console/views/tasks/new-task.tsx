import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { faultBelow } from '../../../service/change-faults.ts';
import { type ListPage, PRIORITIES } from '../../api.ts';
import { useAction } from '../../change/action.ts';
import { isJsonText } from '../../change/json-text.ts';
import { isoTime, NO_TIME } from '../../change/local-time.ts';
import { usePolled } from '../../polled.ts';
import { useCall } from '../../session.ts';
import {
  bodyText,
  commandsFor,
  effectOf,
  emptyDraft,
  isComplete,
  isEmpty,
  ON_CONFLICT,
  type TaskDraft,
} from './new-task-draft.ts';
import { RetryFields } from './retry-fields.tsx';

/** Workers that the form suggests. Others can be typed. */
const SUGGESTED = 100;

interface NewTaskProps {
  /** The worker that is filled in; empty for none. */
  readonly worker: string;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** Creates a task. A form that is sent again, because no answer arrived, creates no second one. */
export function NewTask({ worker, onClose, onCreated }: NewTaskProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  // A corrected form is another request, and gets another key.
  const [idempotencyKey, setKey] = useState(newKey);
  const { answer: workers } = usePolled<ListPage<{ readonly name: string }>>(`/workers?limit=${SUGGESTED}`, {
    everyMs: 0,
  });
  const [draft, setDraft] = useState(() => emptyDraft(worker));
  const set = (change: Partial<TaskDraft>) => {
    setDraft({ ...draft, ...change });
    setKey(newKey());
  };
  const { payload, runAt } = draft;
  const isJson = isEmpty(payload) || isJsonText(payload);
  const isTime = runAt === '' || isoTime(runAt) !== null;
  const isReady = isComplete(draft);
  const create = async () => {
    const headers = { 'Idempotency-Key': idempotencyKey };
    const text = bodyText(draft);
    const { id } = await call<{ readonly id: string }>('/tasks', { method: 'POST', text, headers });
    onCreated(id);
  };
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title="New task"
      effect={isReady ? effectOf(draft) : null}
      verb="Create this task"
      isBusy={isBusy}
      isIncomplete={!isReady}
      fault={faults.whole}
      commands={isReady ? commandsFor(draft) : null}
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <Field label="Worker" {...error('worker')}>
        <input
          value={draft.worker}
          maxLength={64}
          list="workers-of-new-task"
          required
          onInput={event => set({ worker: event.currentTarget.value.trim() })}
        />
      </Field>
      <datalist id="workers-of-new-task">
        {workers?.data.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field
        label="Payload"
        hint="JSON; empty for none"
        {...(isJson ? error('payload') : { error: 'This is not JSON.' })}
      >
        <textarea
          class="code"
          rows={5}
          spellcheck={false}
          value={payload}
          onInput={event => set({ payload: event.currentTarget.value })}
        />
      </Field>
      <Choices
        label="When"
        options={{ now: 'Now', later: 'After a delay', at: 'At a time' }}
        value={draft.when}
        onChoose={when => set({ when })}
      />
      {draft.when === 'later' && (
        <Field label="Delay" hint="10m, 1h30m, 2d" {...error('delay')}>
          <input
            value={draft.delay}
            maxLength={64}
            onInput={event => set({ delay: event.currentTarget.value.trim() })}
          />
        </Field>
      )}
      {draft.when === 'at' && (
        <Field label="Run at" hint="In your time zone" {...(isTime ? error('run_at') : { error: NO_TIME })}>
          <input
            type="datetime-local"
            step="1"
            value={runAt}
            onInput={event => set({ runAt: event.currentTarget.value })}
          />
        </Field>
      )}
      <div class="form-pair">
        <Field label="Priority" {...error('priority')}>
          <select value={draft.priority} onChange={event => set({ priority: event.currentTarget.value })}>
            <option value="">that of the worker</option>
            {PRIORITIES.map(each => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <Field label="Type" hint="A label such as email.welcome" {...error('type')}>
          <input
            value={draft.type}
            maxLength={128}
            onInput={event => set({ type: event.currentTarget.value.trim() })}
          />
        </Field>
      </div>
      <Field label="Key" hint="A worker has one open task with it" {...error('key')}>
        <input
          value={draft.key}
          maxLength={255}
          onInput={event => set({ key: event.currentTarget.value.trim() })}
        />
      </Field>
      {draft.key !== '' && (
        <Field label="If an open task has the key" {...error('on_conflict')}>
          <select
            value={draft.onConflict}
            onChange={event => set({ onConflict: event.currentTarget.value as TaskDraft['onConflict'] })}
          >
            {Object.entries(ON_CONFLICT).map(([word, text]) => (
              <option key={word} value={word}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      )}
      <RetryFields
        draft={draft.retry}
        onChange={retry => set({ retry })}
        errorOf={name => faultBelow(faults, `/retry/${name}`)}
      />
    </ChangeForm>
  );
}

/** Identifies a request, also where pages have no secure context. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
