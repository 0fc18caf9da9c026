import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed, useSession } from '../../session.ts';
import { ROLES, type User } from '../users/user.ts';
import { UserState } from '../users/users.tsx';
import { Tokens } from './tokens.tsx';
import { type UserAction, UserDialog } from './user-dialogs.tsx';

/** One user: role, state and tokens. */
export function UserPage() {
  const { id = '' } = useRoute().query;
  const {
    answer: user,
    error,
    reload,
  } = usePolled<User>(`/users/${encodeURIComponent(id)}`, { everyMs: 10_000 });
  if (user === null) {
    if (error === null) return <Skeleton lines={8} />;
    if (error.status !== 404) return <Failure error={error} onRetry={reload} />;
    return (
      <Empty title={`There is no user ${id}`}>
        <Link query={{ view: 'users' }}>Show all users</Link>
      </Empty>
    );
  }
  return <UserView key={user.id} user={user} onChanged={reload} />;
}

function UserView({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
  const now = useNow();
  const { me } = useSession();
  const mayWrite = useAllowed('users:write');
  // Only owners change owners.
  const mayChange = mayWrite && (user.role !== 'owner' || me.role === 'owner');
  const [open, setOpen] = useState<UserAction | null>(null);
  const done = (action: UserAction) => {
    setOpen(null);
    if (action === 'delete') navigate('/', { view: 'users' });
    else onChanged();
  };
  return (
    <>
      <header class="view-head">
        <div class="task-title">
          <h1>What may {user.name === '' ? user.email : user.name} do?</h1>
          <p class="quiet">
            <Chip kind="neutral">{user.role}</Chip> <UserState status={user.status} /> {ROLES[user.role]}
          </p>
        </div>
        {mayChange && (
          <div class="actions">
            <Button onClick={() => setOpen('role')}>Change role</Button>
            <Button onClick={() => setOpen(user.status === 'disabled' ? 'enable' : 'disable')}>
              {user.status === 'disabled' ? 'Enable' : 'Disable'}
            </Button>
            <Button onClick={() => setOpen('delete')}>Delete</Button>
          </div>
        )}
      </header>
      <div class="task-columns">
        <Tokens user={user} mayChange={mayChange || user.id === me.user.id} nowMs={now} />
        <Panel title="User">
          <Facts
            items={[
              ['Email', user.email],
              ...(user.external_id === null ? [] : [['Login', user.external_id] as const]),
              [
                'Last seen',
                user.last_seen_at === null ? 'never' : <Time iso={user.last_seen_at} nowMs={now} />,
              ],
              ['Created', <Time iso={user.created_at} nowMs={now} />],
              ['Id', <code>{user.id}</code>],
            ]}
          />
        </Panel>
      </div>
      {open !== null && (
        <UserDialog action={open} user={user} onClose={() => setOpen(null)} onDone={() => done(open)} />
      )}
    </>
  );
}
