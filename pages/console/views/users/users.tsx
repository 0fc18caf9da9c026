import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { ListPage } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { NewUser } from './new-user.tsx';
import type { User } from './user.ts';

/** The users of the account. Each has a page with tokens. */
export function Users() {
  const { at = '' } = useRoute().query;
  const now = useNow();
  const mayChange = useAllowed('users:write');
  const [isNew, setNew] = useState(false);
  const cursor = at === '' ? '' : `&cursor=${encodeURIComponent(at)}`;
  const { answer, error, reload } = usePolled<ListPage<User>>(`/users?limit=50${cursor}`, {
    everyMs: 10_000,
  });
  return (
    <>
      <header class="view-head">
        <h1>Who may do what?</h1>
        {mayChange && (
          <Button kind="primary" onClick={() => setNew(true)}>
            New user
          </Button>
        )}
      </header>
      <Panel title="Users" flush>
        {answer === null && error === null && <Skeleton lines={4} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer !== null && (
          <Table
            label="Users"
            columns={columns(now)}
            rows={answer.data}
            rowKey={({ id }) => id}
            onOpen={({ id }) => navigate('/', { view: 'user', id })}
          />
        )}
      </Panel>
      <nav class="pages" aria-label="Pages">
        {at !== '' && <Button onClick={() => navigate('/', { view: 'users' })}>Newest</Button>}
        {answer !== null && answer.next_cursor !== null && (
          <Button onClick={() => navigate('/', { view: 'users', at: answer.next_cursor ?? undefined })}>
            Older
          </Button>
        )}
      </nav>
      {isNew && (
        <NewUser onClose={() => setNew(false)} onCreated={id => navigate('/', { view: 'user', id })} />
      )}
    </>
  );
}

function columns(nowMs: number): readonly Column<User>[] {
  return [
    {
      key: 'email',
      title: 'User',
      grows: true,
      cell: ({ id, email, name }) => (
        <span class="one-line" title={name}>
          <Link query={{ view: 'user', id }}>{email}</Link>
        </span>
      ),
    },
    { key: 'role', title: 'Role', cell: ({ role }) => <Chip kind="neutral">{role}</Chip> },
    { key: 'status', title: 'State', cell: ({ status }) => <UserState status={status} /> },
    {
      key: 'seen',
      title: 'Last seen',
      kind: 'number',
      cell: ({ last_seen_at: seen }) =>
        seen === null ? <span class="quiet">never</span> : <Time iso={seen} nowMs={nowMs} />,
    },
  ];
}

/** Whether a user can do anything. */
export function UserState({ status }: Pick<User, 'status'>) {
  return <Chip kind={status === 'disabled' ? 'rejected' : 'allowed'}>{status}</Chip>;
}
