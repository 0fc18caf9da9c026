import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { ListPage } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import type { Token, User } from '../users/user.ts';
import { DeleteToken, NewToken } from './token-dialogs.tsx';

interface TokensProps {
  readonly user: User;
  readonly mayChange: boolean;
  readonly nowMs: number;
}

/** The tokens of a user, without their values. */
export function Tokens({ user, mayChange, nowMs }: TokensProps) {
  const path = `/users/${user.id}/tokens`;
  const { answer, error, reload } = usePolled<ListPage<Token>>(`${path}?limit=200`, { everyMs: 10_000 });
  const [isNew, setNew] = useState(false);
  const [deleting, setDeleting] = useState<Token | null>(null);
  const columns: readonly Column<Token>[] = [
    { key: 'name', title: 'Token', cell: ({ id, name }) => (name === '' ? <code>{id}</code> : name) },
    {
      key: 'scopes',
      title: 'May be used for',
      grows: true,
      cell: ({ scopes }) => {
        const text = scopes === null ? 'all that the role allows' : scopes.join(', ');
        return (
          <span class="one-line" title={text}>
            {text}
          </span>
        );
      },
    },
    {
      key: 'used',
      title: 'Last used',
      kind: 'number',
      hides: 'narrow',
      cell: ({ last_used_at: used }) =>
        used === null ? <span class="quiet">never</span> : <Time iso={used} nowMs={nowMs} />,
    },
    {
      key: 'expires',
      title: 'Expires',
      kind: 'number',
      cell: ({ expires_at: expires }) => <Time iso={expires} nowMs={nowMs} />,
    },
    ...(mayChange
      ? [
          {
            key: 'delete',
            title: <span class="unseen">Actions</span>,
            cell: (token: Token) => (
              <Button kind="quiet" size="small" onClick={() => setDeleting(token)}>
                Delete
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <Panel
      title="Tokens"
      actions={mayChange && <Button onClick={() => setNew(true)}>New token…</Button>}
      flush
    >
      {answer === null && error === null && <Skeleton lines={3} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer?.data.length === 0 && (
        <Empty title="No tokens">Without a token, this user cannot sign in.</Empty>
      )}
      {answer !== null && answer.data.length > 0 && (
        <Table label="Tokens" columns={columns} rows={answer.data} rowKey={({ id }) => id} />
      )}
      {isNew && <NewToken user={user} onClose={() => setNew(false)} onCreated={reload} />}
      {deleting !== null && (
        <DeleteToken user={user} token={deleting} onClose={() => setDeleting(null)} onDone={reload} />
      )}
    </Panel>
  );
}
