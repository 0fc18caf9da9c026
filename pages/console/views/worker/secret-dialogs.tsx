import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { ShownOnce } from '../../../design/shown-once.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import type { Secret, Worker } from '../workers/worker.ts';

type SecretType = Secret['type'];

const GRACES = { '0s': 'End at once', '1h': '1 hour', '24h': '1 day', '7d': '7 days' } as const;
type Grace = keyof typeof GRACES;

interface NewSecretProps {
  readonly worker: Worker;
  /** Those that the worker has. */
  readonly secrets: readonly Secret[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/**
 * Creates a secret. If there is one of the same type and name, this rotates it: both are valid for a while. A generated
 * value is shown once.
 */
export function NewSecretDialog({ worker, secrets, onClose, onDone }: NewSecretProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const types: Readonly<Partial<Record<SecretType, string>>> =
    worker.mode === 'push'
      ? { signing: 'Signing secret', header: 'Confidential header' }
      : { token: 'Token of the worker' };
  const [type, setType] = useState<SecretType>(worker.mode === 'push' ? 'signing' : 'token');
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [grace, setGrace] = useState<Grace>('24h');
  const [shown, setShown] = useState<{ readonly value: string; readonly isRotation: boolean } | null>(null);
  const replaced = secrets.filter(
    each =>
      each.type === type &&
      each.state === 'active' &&
      each.name === (name === '' ? 'default' : name.toLowerCase()),
  );
  const body = {
    type,
    ...(name !== '' && { name }),
    ...(type === 'header' && { value }),
    ...(replaced.length > 0 && { expire_previous_in: grace }),
  };
  const create = async () => {
    const made = await call<{ readonly value?: string | null }>(`/workers/${worker.id}/secrets`, {
      method: 'POST',
      body,
    });
    onDone();
    if (type === 'header' || !made.value) onClose();
    // The list of secrets has the new one by now, so whether it replaces another is kept from before.
    else setShown({ value: made.value, isRotation: replaced.length > 0 });
  };
  if (shown !== null) return <ShownSecret type={type} {...shown} grace={grace} onClose={onClose} />;
  const isIncomplete = type === 'header' && (name === '' || value === '');
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title={replaced.length > 0 ? `Rotate a secret of ${worker.name}` : `New secret of ${worker.name}`}
      effect={isIncomplete ? null : effectOf(type, replaced.length > 0, grace)}
      verb={replaced.length > 0 ? 'Rotate this secret' : 'Create this secret'}
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole}
      commands={
        type === 'header'
          ? null
          : commandsOf(
              ['secrets', 'create', worker.name, '--type', type, ...(name === '' ? [] : ['--name', name])],
              {
                method: 'POST',
                path: `/workers/${worker.id}/secrets`,
                body,
              },
            )
      }
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <Choices
        label="What it is"
        options={types as Record<SecretType, string>}
        value={type}
        onChoose={setType}
      />
      <Field
        label={type === 'header' ? 'Name of the header field' : 'Name'}
        hint={
          type === 'header' ? 'Such as x-api-key' : 'If empty, it is default. The same name rotates a secret.'
        }
        {...error('name')}
      >
        <input value={name} maxLength={64} onInput={event => setName(event.currentTarget.value.trim())} />
      </Field>
      {type === 'header' && (
        <Field label="Value" hint="It is encrypted, and cannot be read again." {...error('value')}>
          <input
            type="password"
            autocomplete="off"
            value={value}
            maxLength={4096}
            onInput={event => setValue(event.currentTarget.value)}
          />
        </Field>
      )}
      {replaced.length > 0 && (
        <Choices
          label="How long the earlier secret stays valid"
          options={GRACES}
          value={grace}
          onChoose={setGrace}
        />
      )}
    </ChangeForm>
  );
}

function effectOf(type: SecretType, isRotation: boolean, grace: Grace): string {
  const what = {
    signing: 'Requests are signed with this secret.',
    header: 'Requests have this header field.',
    token: 'The worker can lease its tasks with this token.',
  }[type];
  if (!isRotation) return `${what}${type === 'header' ? '' : ' Its value is shown once.'}`;
  const until = grace === '0s' ? 'ends at once' : `stays valid for ${GRACES[grace]}`;
  return `${what} The earlier secret ${until}${type === 'signing' && grace !== '0s' ? ', and requests have a signature of each' : ''}.`;
}

interface ShownSecretProps {
  readonly type: SecretType;
  readonly value: string;
  readonly isRotation: boolean;
  readonly grace: Grace;
  readonly onClose: () => void;
}

/** A generated value, and what to do with it now. */
function ShownSecret({ type, value, isRotation, grace, onClose }: ShownSecretProps) {
  const steps =
    type === 'signing'
      ? [
          'Give it to the receiver, which verifies requests with it.',
          'Send a test to see that the receiver accepts it.',
        ]
      : ['Give it to the program that leases the tasks, as SLUICE_TOKEN.', 'Restart the program.'];
  if (isRotation && grace !== '0s')
    steps.push(`Do this within ${GRACES[grace]}: then the earlier secret ends.`);
  return (
    <ShownOnce
      title="Copy the value now"
      label={type === 'signing' ? 'Signing secret' : 'Token'}
      value={value}
      onClose={onClose}
    >
      <ol class="steps">
        {steps.map(step => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </ShownOnce>
  );
}

interface DeleteSecretProps {
  readonly worker: Worker;
  readonly secret: Secret;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Deletes a secret, which ends it at once. */
export function DeleteSecretDialog({ worker, secret, onClose, onDone }: DeleteSecretProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const path = `/workers/${worker.id}/secrets/${secret.id}`;
  const remove = async () => {
    if (!(await make(() => call(path, { method: 'DELETE' })))) return;
    onClose();
    onDone();
  };
  return (
    <ChangeForm
      title="Delete a secret"
      effect={`The ${secret.type} secret ${secret.name} (${secret.fingerprint}) is no longer used, at once. To replace it without a gap, rotate it instead.`}
      verb="Delete this secret"
      isDangerous
      isBusy={isBusy}
      fault={faults.whole}
      commands={commandsOf(['secrets', 'delete', worker.name, secret.id], { method: 'DELETE', path })}
      onSubmit={() => void remove()}
      onClose={onClose}
    />
  );
}
