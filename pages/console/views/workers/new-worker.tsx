import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';

interface NewWorkerProps {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** Creates a worker. Everything except the name, the way and the URL has a default that can be changed later. */
export function NewWorker({ onClose, onCreated }: NewWorkerProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [mode, setMode] = useState<'push' | 'pull'>('push');
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const body = { name, mode, ...(mode === 'push' && { url }) };
  const isIncomplete = name === '' || (mode === 'push' && url === '');
  const create = async () => {
    const { id } = await call<{ readonly id: string }>('/workers', { method: 'POST', body });
    onCreated(id);
  };
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title="New worker"
      effect={isIncomplete ? null : effectOf(mode, name, url)}
      verb="Create this worker"
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole}
      commands={
        isIncomplete
          ? null
          : commandsOf(['workers', 'create', name, ...(mode === 'push' ? ['--push-to', url] : [])], {
              method: 'POST',
              path: '/workers',
              body,
            })
      }
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="Lower-case letters, digits, dots and dashes. It cannot be changed once there are tasks."
        {...error('name')}
      >
        <input
          value={name}
          maxLength={63}
          required
          onInput={event => setName(event.currentTarget.value.trim())}
        />
      </Field>
      <Choices
        label="How it gets its tasks"
        options={{ push: 'Sluice sends them to a URL', pull: 'It asks for them' }}
        value={mode}
        onChoose={setMode}
      />
      {mode === 'push' && (
        <Field
          label="URL"
          hint="https, with a public address, unless the operator allows others"
          {...error('url')}
        >
          <input
            type="url"
            value={url}
            maxLength={2048}
            placeholder="https://mail.example.com/tasks"
            required
            onInput={event => setUrl(event.currentTarget.value.trim())}
          />
        </Field>
      )}
    </ChangeForm>
  );
}

function effectOf(mode: 'push' | 'pull', name: string, url: string): string {
  return mode === 'push'
    ? `Creates the worker ${name}. Sluice sends its tasks to ${url} with POST.`
    : `Creates the worker ${name}. A program leases its tasks with POST /api/v1/workers/${name}/leases.`;
}
