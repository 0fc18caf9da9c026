import { Field } from '../../../design/field.tsx';
import { useSession } from '../../session.ts';
import { ROLES, type User } from './user.ts';

interface RoleFieldProps {
  readonly value: User['role'];
  /** What is wrong with it; undefined if nothing is. */
  readonly error: string | undefined;
  readonly onChoose: (role: User['role']) => void;
}

/** Chooses a role. Only owners can make owners. */
export function RoleField({ value, error, onChoose }: RoleFieldProps) {
  const { role } = useSession().me;
  const roles = (Object.keys(ROLES) as User['role'][]).filter(each => each !== 'owner' || role === 'owner');
  return (
    <Field label="Role" hint={`A ${value} ${ROLES[value]}.`} {...(error !== undefined && { error })}>
      <select value={value} onChange={event => onChoose(event.currentTarget.value as User['role'])}>
        {roles.map(each => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </Field>
  );
}
