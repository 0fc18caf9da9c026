import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { formatCount, formatDuration, formatShare } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { usePolled } from '../../polled.ts';
import type { ComparedLimit, Rehearsal } from './rehearsal.ts';
import { StepDialog } from './step-dialog.tsx';

/** What candidate rules would change, and the steps of their rehearsal. */
export function RehearsalView() {
  const { answer, error, reload } = usePolled<Rehearsal>('/rehearsal');
  const [step, begin] = useState<'promote' | 'restart' | 'stop' | null>(null);
  if (answer === null) {
    return error === null ? <Skeleton lines={8} /> : <Failure error={error} onRetry={reload} />;
  }
  return (
    <>
      <div class="title-line">
        <h1>What would the candidate rules change?</h1>
        {answer.state !== 'none' && (
          <div class="actions">
            {answer.state === 'running' && <Button onClick={() => begin('restart')}>Begin again…</Button>}
            <Button onClick={() => begin('stop')}>End…</Button>
            {answer.state === 'running' && (
              <Button kind="primary" onClick={() => begin('promote')}>
                Promote…
              </Button>
            )}
          </div>
        )}
      </div>
      <Content rehearsal={answer} />
      {step !== null && (
        <StepDialog
          step={step}
          rehearsal={answer}
          onClose={() => {
            begin(null);
            reload();
          }}
        />
      )}
    </>
  );
}

function Content({ rehearsal }: { readonly rehearsal: Rehearsal }) {
  const { state, reasons } = rehearsal;
  if (state === 'none') {
    return (
      <Empty title="No candidate rules are rehearsed">
        Candidate rules are decided beside the active ones, without effect on answers. Begin with{' '}
        <code>sluice rehearse DIR</code>, or set <code>RUNTIME_CANDIDATE</code> to a directory with rule
        files.
      </Empty>
    );
  }
  if (state === 'faults') {
    return (
      <Panel title="The candidate rules have faults" actions={<Chip kind="error">Not rehearsed</Chip>}>
        <ul class="load-faults">
          {reasons
            .flatMap(reason => reason.split('\n'))
            .map((reason, i) => (
              <li key={i} class="break">
                {reason}
              </li>
            ))}
        </ul>
      </Panel>
    );
  }
  return (
    <>
      <Summary rehearsal={rehearsal} />
      <Panel title="By limit" note={`${formatCount(rehearsal.limits.length)} with hits`} flush>
        {rehearsal.limits.length === 0 ? (
          <Empty title="No hits yet">Figures appear with the next requests.</Empty>
        ) : (
          <Table
            label="Limits of the candidate rules"
            columns={COLUMNS}
            rows={rehearsal.limits}
            rowKey={({ path, meaning }) => `${path} ${meaning}`}
          />
        )}
      </Panel>
      <ChangedKeys rehearsal={rehearsal} />
    </>
  );
}

function Summary({ rehearsal: { id, source, seconds, share, total } }: { readonly rehearsal: Rehearsal }) {
  if (total === null) return null;
  const { hits, rejected, today, more, fewer } = total;
  return (
    <Panel title="All limits together" note={`for ${formatDuration((seconds ?? 0) * 1000)}`}>
      <Facts
        items={[
          [
            'Would be rejected',
            `${formatCount(rejected)} of ${formatCount(hits)} hits (${formatShare(rejected, hits)})`,
          ],
          ['Rejected today', `${formatCount(today)} (${formatShare(today, hits)})`],
          ['More', `${formatCount(more)} hits that are allowed today`],
          ['Fewer', `${formatCount(fewer)} hits that are rejected today`],
          ['Candidate', <code>{id}</code>],
          ['From', <span class="break">{source}</span>],
          ...(share === 1 || share === null
            ? []
            : [['Estimated', `from ${formatShare(share, 1)} of the keys`] as const]),
        ]}
      />
    </Panel>
  );
}

function ChangedKeys({ rehearsal: { keys } }: { readonly rehearsal: Rehearsal }) {
  if (keys.length === 0) return null;
  return (
    <Panel title="Keys of the last changes" flush>
      <Table
        label="Keys of the last changes"
        columns={[
          {
            key: 'key',
            title: 'Key',
            grows: true,
            cell: ({ key, path }) => (
              <span class="limit-name">
                <span class="one-line" title={key}>
                  {key}
                </span>
                <span class="one-line small quiet">{path ?? 'no limit'}</span>
              </span>
            ),
          },
          {
            key: 'outcome',
            title: 'Would be',
            cell: ({ outcome }) => (
              <Chip kind={outcome}>{outcome === 'rejected' ? 'Rejected' : 'Allowed'}</Chip>
            ),
          },
          { key: 'count', title: 'Times', kind: 'number', cell: ({ count }) => formatCount(count) },
        ]}
        rows={keys}
        rowKey={({ key, path, outcome }) => `${path}\n${outcome}\n${key}`}
      />
    </Panel>
  );
}

function ShareOf({ part, whole }: { readonly part: number; readonly whole: number }) {
  return (
    <span class={part === 0 ? 'quiet' : undefined}>
      {formatShare(part, whole)}
      <span class="share-part small quiet">{formatCount(part)}</span>
    </span>
  );
}

const COLUMNS: readonly Column<ComparedLimit>[] = [
  {
    key: 'path',
    title: 'Limit of the candidate',
    grows: true,
    cell: ({ path, meaning }) => (
      <div class="limit-name" title={path ?? undefined}>
        <span class="one-line">
          {path === null ? 'No limit' : <Link query={{ view: 'limit', path }}>{path}</Link>}
        </span>
        <span class="one-line small quiet">
          {meaning ?? 'descriptors without a limit in the candidate rules'}
        </span>
      </div>
    ),
  },
  { key: 'hits', title: 'Hits', kind: 'number', hides: 'narrow', cell: ({ hits }) => formatCount(hits) },
  {
    key: 'rejected',
    title: 'Would be rejected',
    kind: 'number',
    cell: ({ rejected, hits }) => <ShareOf part={rejected} whole={hits} />,
  },
  {
    key: 'today',
    title: 'Today',
    kind: 'number',
    cell: ({ today, hits }) => <ShareOf part={today} whole={hits} />,
  },
  { key: 'more', title: 'More', kind: 'number', hides: 'medium', cell: ({ more }) => formatCount(more) },
  { key: 'fewer', title: 'Fewer', kind: 'number', hides: 'medium', cell: ({ fewer }) => formatCount(fewer) },
];
