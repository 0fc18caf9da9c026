import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import { usePolled } from '../../polled.ts';
import type { Secret, Worker } from '../workers/worker.ts';
import { DeleteSecretDialog, NewSecretDialog } from './secret-dialogs.tsx';

interface SecretsProps {
  readonly worker: Worker;
  readonly mayChange: boolean;
  readonly nowMs: number;
}

/** The secrets of a worker: what they are for, which are in use, and until when. */
export function Secrets({ worker, mayChange, nowMs }: SecretsProps) {
  const { answer, error, reload } = usePolled<{ readonly data: readonly Secret[] }>(
    `/workers/${worker.id}/secrets`,
    {
      everyMs: 10_000,
    },
  );
  const [isNew, setNew] = useState(false);
  const [deleting, setDeleting] = useState<Secret | null>(null);
  return (
    <Panel
      title="Secrets"
      actions={mayChange && <Button onClick={() => setNew(true)}>New or rotate…</Button>}
    >
      {answer === null && error === null && <Skeleton lines={2} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer?.data.length === 0 && (
        <Empty title="No secrets">
          {worker.mode === 'push'
            ? 'A signing secret lets the receiver check that a request is from Sluice.'
            : 'A token lets the worker lease its tasks without the token of a user.'}
        </Empty>
      )}
      <ul class="secrets">
        {answer?.data.map(secret => (
          <li key={secret.id}>
            <span>
              <strong>{secret.type}</strong> {secret.name}{' '}
              <Chip kind={secret.state === 'active' ? 'allowed' : 'near'}>{secret.state}</Chip>
            </span>
            <span class="quiet small">
              <code>{secret.fingerprint}</code> · created <Time iso={secret.created_at} nowMs={nowMs} />
              {secret.expires_at !== null && (
                <>
                  {' '}
                  · valid until <Time iso={secret.expires_at} nowMs={nowMs} />
                </>
              )}
              {' · '}
              {secret.last_used_at === null ? (
                'not used yet'
              ) : (
                <>
                  used <Time iso={secret.last_used_at} nowMs={nowMs} />
                </>
              )}
            </span>
            {mayChange && (
              <Button kind="quiet" size="small" onClick={() => setDeleting(secret)}>
                Delete
              </Button>
            )}
          </li>
        ))}
      </ul>
      {isNew && (
        <NewSecretDialog
          worker={worker}
          secrets={answer?.data ?? []}
          onClose={() => setNew(false)}
          onDone={reload}
        />
      )}
      {deleting !== null && (
        <DeleteSecretDialog
          worker={worker}
          secret={deleting}
          onClose={() => setDeleting(null)}
          onDone={reload}
        />
      )}
    </Panel>
  );
}
