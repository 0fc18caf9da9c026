import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Field } from '../../../design/field.tsx';
import { ShownOnce } from '../../../design/shown-once.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import type { Token, User } from '../users/user.ts';

const DAY_MS = 86_400_000;
const LIFETIMES = { month: '30 days', quarter: '90 days', year: '1 year' } as const;
const DAYS: Readonly<Record<keyof typeof LIFETIMES, number>> = { month: 30, quarter: 90, year: 365 };

const SCOPES: Readonly<Record<string, string>> = {
  'tasks:read': 'read tasks',
  'tasks:write': 'create and change tasks',
  'tasks:payload': 'see payloads and results',
  'workers:read': 'read workers',
  'workers:write': 'change workers and secrets',
  'schedules:read': 'read schedules',
  'schedules:write': 'change schedules',
  'users:read': 'read users and the audit log',
  'users:write': 'change users and tokens',
  leases: 'lease tasks as a pull worker',
};

interface NewTokenProps {
  readonly user: User;
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Creates a token, for all that the role allows or for some scopes, and shows it once. */
export function NewToken({ user, onClose, onCreated }: NewTokenProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [name, setName] = useState('');
  const [lifetime, setLifetime] = useState<keyof typeof LIFETIMES>('quarter');
  const [isLimited, limit] = useState<'all' | 'some'>('all');
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set(['tasks:read']));
  const [token, setToken] = useState<string | null>(null);
  const body = () => ({
    ...(name !== '' && { name }),
    expires_at: new Date(Date.now() + DAYS[lifetime] * DAY_MS).toISOString(),
    ...(isLimited === 'some' && { scopes: [...scopes] }),
  });
  const path = `/users/${user.id}/tokens`;
  const create = async () => {
    const made = await call<{ readonly token: string | null }>(path, { method: 'POST', body: body() });
    onCreated();
    setToken(made.token);
  };
  if (token !== null)
    return <ShownOnce title="Copy the token now" label="Token" value={token} onClose={onClose} />;
  const isIncomplete = isLimited === 'some' && scopes.size === 0;
  const toggle = (scope: string) => {
    const next = new Set(scopes);
    if (!next.delete(scope)) next.add(scope);
    setScopes(next);
  };
  return (
    <ChangeForm
      title={`New token of ${user.email}`}
      effect={`A program with this token can ${
        isLimited === 'all'
          ? `do all that the role ${user.role} allows`
          : 'do what is chosen here, if the role allows it'
      }, for ${LIFETIMES[lifetime]}. It is shown once.`}
      verb="Create this token"
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole || (faults.fields['scopes'] ?? '')}
      commands={
        isIncomplete
          ? null
          : commandsOf(
              [
                'tokens',
                'create',
                user.email,
                ...(isLimited === 'some' ? ['--scopes', [...scopes].join(',')] : []),
              ],
              { method: 'POST', path, body: body() },
            )
      }
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="What it is for"
        {...(faults.fields['name'] && { error: faults.fields['name'] })}
      >
        <input value={name} maxLength={100} onInput={event => setName(event.currentTarget.value)} />
      </Field>
      <Choices label="Lifetime" options={LIFETIMES} value={lifetime} onChoose={setLifetime} />
      <Choices
        label="May be used for"
        options={{ all: 'All that the role allows', some: 'Some of it' }}
        value={isLimited}
        onChoose={limit}
      />
      {isLimited === 'some' && (
        <fieldset class="scopes" aria-label="Scopes">
          {Object.entries(SCOPES).map(([scope, meaning]) => (
            <label key={scope}>
              <input type="checkbox" checked={scopes.has(scope)} onChange={() => toggle(scope)} /> {meaning}{' '}
              <code class="quiet">{scope}</code>
            </label>
          ))}
        </fieldset>
      )}
    </ChangeForm>
  );
}

interface DeleteTokenProps {
  readonly user: User;
  readonly token: Token;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Deletes a token, which ends it at once. */
export function DeleteToken({ user, token, onClose, onDone }: DeleteTokenProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const path = `/users/${user.id}/tokens/${token.id}`;
  const remove = async () => {
    if (!(await make(() => call(path, { method: 'DELETE' })))) return;
    onClose();
    onDone();
  };
  return (
    <ChangeForm
      title="Delete a token"
      effect={`The token ${token.name === '' ? token.id : token.name} of ${user.email} is rejected, at once.`}
      verb="Delete this token"
      isDangerous
      isBusy={isBusy}
      fault={faults.whole}
      commands={commandsOf(['tokens', 'delete', user.email, token.id], { method: 'DELETE', path })}
      onSubmit={() => void remove()}
      onClose={onClose}
    />
  );
}
