import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { type ListPage, PRIORITIES } from '../../api.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { isJsonText } from '../../change/json-text.ts';
import { usePolled } from '../../polled.ts';
import { useCall } from '../../session.ts';

/** Workers that the form suggests. Others can be typed. */
const SUGGESTED = 100;

interface NewTaskProps {
  /** The worker that is filled in; empty for none. */
  readonly worker: string;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

interface Draft {
  readonly worker: string;
  readonly payload: string;
  readonly when: 'now' | 'later' | 'at';
  readonly delay: string;
  /** The value of an input of the type `datetime-local`, in the zone of the browser. */
  readonly runAt: string;
  /** Empty for that of the worker. */
  readonly priority: string;
  readonly type: string;
  readonly key: string;
  /** Empty for that of the worker. */
  readonly maxAttempts: string;
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
  const [draft, setDraft] = useState<Draft>({
    ...{ worker, payload: '', when: 'now', delay: '10m', runAt: '' },
    ...{ priority: '', type: '', key: '', maxAttempts: '' },
  });
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change });
    setKey(newKey());
  };
  const { payload } = draft;
  const isJson = payload.trim() === '' || isJsonText(payload);
  const isIncomplete = draft.worker === '' || !isJson || (draft.when === 'at' && draft.runAt === '');
  const fields = fieldsOf(draft);
  const create = async () => {
    const rest = JSON.stringify(fields);
    // The numbers of a payload stay as they are written.
    const text = payload.trim() === '' ? rest : `${rest.slice(0, -1)},"payload":${payload}}`;
    const headers = { 'Idempotency-Key': idempotencyKey };
    const { id } = await call<{ readonly id: string }>('/tasks', { method: 'POST', text, headers });
    onCreated(id);
  };
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title="New task"
      effect={isIncomplete ? null : effectOf(draft)}
      verb="Create this task"
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole}
      commands={
        isIncomplete
          ? null
          : commandsOf(commandOf(draft), {
              method: 'POST',
              path: '/tasks',
              body: { ...fields, ...(payload.trim() !== '' && { payload: JSON.parse(payload) }) },
            })
      }
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
        <Field label="Run at" hint="In your time zone" {...error('run_at')}>
          <input
            type="datetime-local"
            step="1"
            value={draft.runAt}
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
        <Field label="Maximum number of attempts" hint="Empty: that of the worker" {...error('retry')}>
          <input
            type="number"
            min={1}
            max={100}
            value={draft.maxAttempts}
            onInput={event => set({ maxAttempts: event.currentTarget.value })}
          />
        </Field>
      </div>
      <div class="form-pair">
        <Field label="Type" hint="A label such as email.welcome" {...error('type')}>
          <input
            value={draft.type}
            maxLength={128}
            onInput={event => set({ type: event.currentTarget.value.trim() })}
          />
        </Field>
        <Field label="Key" hint="A worker has one open task with it" {...error('key')}>
          <input
            value={draft.key}
            maxLength={255}
            onInput={event => set({ key: event.currentTarget.value.trim() })}
          />
        </Field>
      </div>
    </ChangeForm>
  );
}

/** The fields of the task, except its payload. */
function fieldsOf({ worker, when, delay, runAt, priority, type, key, maxAttempts }: Draft): object {
  return {
    worker,
    ...(when === 'later' && { delay }),
    ...(when === 'at' && runAt !== '' && { run_at: new Date(runAt).toISOString() }),
    ...(priority !== '' && { priority }),
    ...(type !== '' && { type }),
    ...(key !== '' && { key }),
    ...(maxAttempts !== '' && { retry: { max_attempts: Number(maxAttempts) } }),
  };
}

/** Null if the command has no flag for one of the fields. */
function commandOf({
  worker,
  payload,
  when,
  delay,
  runAt,
  priority,
  type,
  key,
  maxAttempts,
}: Draft): string[] | null {
  if (maxAttempts !== '') return null;
  return [
    'create',
    worker,
    ...(payload.trim() === '' ? [] : ['--payload', payload]),
    ...(when === 'later' ? ['--delay', delay] : []),
    ...(when === 'at' ? ['--run-at', new Date(runAt).toISOString()] : []),
    ...(priority === '' ? [] : ['--priority', priority]),
    ...(type === '' ? [] : ['--type', type]),
    ...(key === '' ? [] : ['--key', key]),
  ];
}

function effectOf({ worker, when, delay, runAt }: Draft): string {
  if (when === 'later') return `Creates a task, which ${worker} gets in ${delay}.`;
  if (when === 'at') return `Creates a task, which ${worker} gets at ${new Date(runAt).toLocaleString()}.`;
  return `Creates a task, which ${worker} gets as soon as it can.`;
}

/** Identifies a request, also where pages have no secure context. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
