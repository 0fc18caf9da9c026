import { useState } from 'preact/hooks';
import { ChangeForm } from '../../../design/change-form.tsx';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import { RoleField } from '../users/role-field.tsx';
import { ROLES, type User } from '../users/user.ts';

export type UserAction = 'role' | 'disable' | 'enable' | 'delete';

interface UserDialogProps {
  readonly action: UserAction;
  readonly user: User;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks before a change of a user, and makes it. */
export function UserDialog({ action, user, onClose, onDone }: UserDialogProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const [role, setRole] = useState(user.role);
  const path = `/users/${user.id}`;
  const change = {
    role: { body: { role }, words: ['users', 'update', user.email, '--role', role] },
    disable: { body: { status: 'disabled' }, words: ['users', 'update', user.email, '--status', 'disabled'] },
    enable: { body: { status: 'active' }, words: ['users', 'update', user.email, '--status', 'active'] },
    delete: { body: undefined, words: ['users', 'delete', user.email] },
  }[action];
  const method = action === 'delete' ? 'DELETE' : 'PATCH';
  return (
    <ChangeForm
      title={TITLES[action]}
      effect={effectOf(action, user, role)}
      verb={TITLES[action]}
      isDangerous={action === 'disable' || action === 'delete'}
      isBusy={isBusy}
      isIncomplete={action === 'role' && role === user.role}
      fault={faults.whole}
      commands={commandsOf(change.words, { method, path, body: change.body })}
      onSubmit={() =>
        void make(() => call(path, { method, body: change.body })).then(isMade => isMade && onDone())
      }
      onClose={onClose}
    >
      {action === 'role' && <RoleField value={role} error={faults.fields['role']} onChoose={setRole} />}
    </ChangeForm>
  );
}

const TITLES: Readonly<Record<UserAction, string>> = {
  role: 'Change the role',
  disable: 'Disable this user',
  enable: 'Enable this user',
  delete: 'Delete this user',
};

function effectOf(action: UserAction, { email }: User, role: User['role']): string {
  switch (action) {
    case 'role':
      return `${email} then ${ROLES[role]}, with all tokens and at once.`;
    case 'disable':
      return `${email} can do nothing: all tokens are rejected, until the user is enabled.`;
    case 'enable':
      return `${email} can use the tokens again.`;
    case 'delete':
      return `${email} and all tokens of this user are deleted, which cannot be undone.`;
  }
}
