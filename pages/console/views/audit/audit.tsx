import { Button } from '../../../design/button.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import { ActorName } from '../../actor-name.tsx';
import type { Actor, ListPage } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';

/** An entry of the audit log. */
interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly actor: Actor;
  readonly token_id: string | null;
  readonly target_id: string | null;
  readonly target_name: string | null;
  readonly changed: readonly string[];
  readonly details: Readonly<Record<string, string | number>>;
  readonly request_id: string;
}

/** Views of what entries are about, by the prefix of the id. */
const VIEWS: Readonly<Record<string, string>> = { usr: 'user', wrk: 'worker', sch: 'schedule' };

/** Who has changed what. */
export function Audit() {
  const { at = '' } = useRoute().query;
  const now = useNow();
  const cursor = at === '' ? '' : `&cursor=${encodeURIComponent(at)}`;
  const { answer, error, reload } = usePolled<ListPage<AuditEntry>>(`/audit?limit=50${cursor}`, {
    everyMs: 5_000,
  });
  return (
    <>
      <h1>Who has changed what?</h1>
      <Panel title="Audit log" note="kept for 90 days" flush>
        {answer === null && error === null && <Skeleton lines={8} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer?.data.length === 0 && (
          <Empty title="Nothing has been changed yet">
            Changes of users, tokens, workers, secrets and schedules, and bulk actions, are listed here.
          </Empty>
        )}
        {answer !== null && answer.data.length > 0 && (
          <Table label="Audit log" columns={columns(now)} rows={answer.data} rowKey={({ id }) => id} />
        )}
      </Panel>
      <nav class="pages" aria-label="Pages">
        {at !== '' && <Button onClick={() => navigate('/', { view: 'audit' })}>Newest</Button>}
        {answer !== null && answer.next_cursor !== null && (
          <Button onClick={() => navigate('/', { view: 'audit', at: answer.next_cursor ?? undefined })}>
            Older
          </Button>
        )}
      </nav>
    </>
  );
}

function columns(nowMs: number): readonly Column<AuditEntry>[] {
  return [
    { key: 'at', title: 'When', cell: ({ at }) => <Time iso={at} nowMs={nowMs} /> },
    { key: 'action', title: 'What', cell: ({ action }) => <code>{action}</code> },
    {
      key: 'target',
      title: 'Of',
      cell: ({ target_id: id, target_name: name }) => {
        const view = VIEWS[id?.split('_')[0] ?? ''];
        const text = name ?? id ?? '';
        return view === undefined || id === null ? text : <Link query={{ view, id }}>{text}</Link>;
      },
    },
    {
      key: 'changed',
      title: 'Fields and details',
      grows: true,
      hides: 'narrow',
      cell: entry => (
        <span class="one-line" title={detailsOf(entry)}>
          {detailsOf(entry)}
        </span>
      ),
    },
    {
      key: 'actor',
      title: 'By',
      hides: 'medium',
      cell: ({ actor }) => (
        <span class="one-line">
          <ActorName actor={actor} />
        </span>
      ),
    },
    {
      key: 'request',
      title: 'Request',
      hides: 'medium',
      cell: ({ request_id: id }) => <code class="quiet one-line" title={id}>{`…${id.slice(-8)}`}</code>,
    },
  ];
}

function detailsOf({ changed, details }: AuditEntry): string {
  const parts = [...changed, ...Object.entries(details).map(([name, value]) => `${name}: ${value}`)];
  return parts.join(', ');
}
