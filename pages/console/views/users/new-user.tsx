import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { Field } from '../../../design/field.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import { RoleField } from './role-field.tsx';
import { ROLES, type User } from './user.ts';

interface NewUserProps {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** Creates a user, who then needs a token. */
export function NewUser({ onClose, onCreated }: NewUserProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<User['role']>('member');
  const body = { email, role, ...(name !== '' && { name }) };
  const isIncomplete = email === '';
  const create = async () => {
    const { id } = await call<{ readonly id: string }>('/users', { method: 'POST', body });
    onCreated(id);
  };
  const error = (field: string) =>
    faults.fields[field] === undefined ? {} : { error: faults.fields[field] };
  return (
    <ChangeForm
      title="New user"
      effect={
        isIncomplete
          ? null
          : `Creates ${email}, who ${ROLES[role]}. Create a token on the next page: it is how this user signs in.`
      }
      verb="Create this user"
      isBusy={isBusy}
      isIncomplete={isIncomplete}
      fault={faults.whole}
      commands={
        isIncomplete
          ? null
          : commandsOf(['users', 'create', email, '--role', role], { method: 'POST', path: '/users', body })
      }
      onSubmit={() => void make(create)}
      onClose={onClose}
    >
      <Field label="Email" {...error('email')}>
        <input
          type="email"
          value={email}
          maxLength={254}
          required
          onInput={event => setEmail(event.currentTarget.value.trim())}
        />
      </Field>
      <Field label="Name" {...error('name')}>
        <input value={name} maxLength={100} onInput={event => setName(event.currentTarget.value)} />
      </Field>
      <RoleField value={role} error={faults.fields['role']} onChoose={setRole} />
    </ChangeForm>
  );
}
