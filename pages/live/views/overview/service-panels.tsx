import { Chip } from '../../../design/chip.tsx';
import { formatCount, formatMs, formatRate } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { ProcessStatus, Status } from '../../api.ts';
import { Digest } from '../../digest.tsx';
import { useLive } from '../../live-state.ts';
import { storeName } from '../../service-facts.tsx';

/** Where the counters are, and how the service is. */
export function StorePanel() {
  const { status } = useLive();
  if (status === null) return null;
  const { store, components, threads } = status;
  const failing = components.filter(({ healthy }) => !healthy);
  return (
    <Panel
      title="Store"
      actions={
        store.connected ? <Chip kind="allowed">Connected</Chip> : <Chip kind="error">Disconnected</Chip>
      }
    >
      <Facts
        items={[
          ['Counters', storeName(status)],
          ['If it fails', failureText(store.failure_mode)],
          ['Threads', threadText(threads)],
          [
            'Health',
            failing.length === 0
              ? 'all components'
              : `failing: ${failing.map(({ name }) => name).join(', ')}`,
          ],
        ]}
      />
    </Panel>
  );
}

const FAILURES: Readonly<Record<string, string>> = {
  error: 'answer with an error',
  allow: 'allow requests',
  deny: 'reject requests',
  local: 'count in this process',
};

function failureText(mode: string): string {
  return FAILURES[mode] ?? mode;
}

function threadText({ serving, deciding }: Status['threads']): string {
  return deciding === 0 ? `${serving} serving` : `${serving} serving, ${deciding} deciding`;
}

/** Where the time of a decision goes. */
export function LatencyPanel() {
  const { status } = useLive();
  if (status === null) return null;
  const { decision, store, batch, seconds } = status.latency;
  return (
    <Panel title="Latency" note={`last ${Math.ceil(seconds)} s`}>
      <table class="figures" aria-label="Latency and batch sizes">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Figure</span>
            </th>
            <th scope="col">median</th>
            <th scope="col">99 %</th>
          </tr>
        </thead>
        <tbody>
          <FigureRow name="Decision" values={[decision.p50_ms, decision.p99_ms]} format={formatMs} />
          <FigureRow name="of it, store" values={[store.p50_ms, store.p99_ms]} format={formatMs} />
          <FigureRow
            name="Requests in a batch"
            values={[batch.requests_p50, batch.requests_p99]}
            format={formatCount}
          />
        </tbody>
      </table>
    </Panel>
  );
}

interface FigureRowProps {
  readonly name: string;
  /** Null without traffic. */
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
}

function FigureRow({ name, values, format }: FigureRowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {values.map((value, i) => (
        <td key={i}>{value === null ? '–' : format(value)}</td>
      ))}
    </tr>
  );
}

/** The processes that share the store. */
export function Instances() {
  const { status, nowMs } = useLive();
  if (status === null) return null;
  return (
    <Panel title="Instances" note="sharing the store" flush>
      <Table
        label="Instances"
        columns={instanceColumns(nowMs, status.rules.digest)}
        rows={status.processes}
        rowKey={({ id }) => id}
      />
    </Panel>
  );
}

/** @param digest that of the rules of this process; null if it has none */
function instanceColumns(nowMs: number, digest: string | null): readonly Column<ProcessStatus>[] {
  return [
    {
      key: 'host',
      title: 'Instance',
      grows: true,
      cell: ({ host, pid, is_this }) => (
        <span class="one-line" title={`${host}, process ${pid}`}>
          {host} <span class="quiet">{pid}</span> {is_this && <Chip kind="neutral">this one</Chip>}
        </span>
      ),
    },
    {
      key: 'hits',
      title: 'Hits',
      kind: 'number',
      cell: ({ hits_per_second: rate }) => (rate === null ? '–' : formatRate(rate)),
    },
    {
      key: 'rejected',
      title: 'Rejected',
      kind: 'number',
      cell: ({ rejected_per_second: rate }) => (rate === null ? '–' : formatRate(rate)),
    },
    {
      key: 'rules',
      title: 'Rules',
      hides: 'narrow',
      cell: ({ rules_digest: own, rules_error: error }) => (
        <>
          {own === null ? '–' : <Digest digest={own} />}{' '}
          {own !== null && own !== digest && <Chip kind="near">other rules</Chip>}{' '}
          {error !== null && (
            <span title={error}>
              <Chip kind="error">newer refused</Chip>
            </span>
          )}
        </>
      ),
    },
    { key: 'version', title: 'Version', hides: 'narrow', cell: ({ version }) => version },
    {
      key: 'started',
      title: 'Started',
      hides: 'narrow',
      cell: ({ started }) => <Time iso={started} nowMs={nowMs} />,
    },
  ];
}
