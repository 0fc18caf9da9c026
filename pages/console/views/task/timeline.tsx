import { useEffect } from 'preact/hooks';
import { Chip } from '../../../design/chip.tsx';
import { formatDuration, formatMs } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Link, useRoute } from '../../../design/route.ts';
import { Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import type { TaskStatus } from '../../../service/task-status.ts';
import { ActorName } from '../../actor-name.tsx';
import type { Actor, ListPage, Task } from '../../api.ts';
import { usePolled } from '../../polled.ts';

/** An entry of the history of a task. */
interface Entry {
  readonly seq: number;
  readonly at: string;
  readonly event: string;
  readonly from: TaskStatus | null;
  readonly to: TaskStatus;
  readonly attempt: number;
  readonly actor: Actor;
  readonly http?: {
    readonly status: number;
    readonly duration_ms: number;
    readonly response?: string;
    readonly truncated: boolean;
  };
  readonly error?: { readonly code: string; readonly message: string };
  readonly next_attempt_at?: string;
  readonly changed?: readonly string[];
  readonly progress?: number;
  readonly note?: string;
  readonly dropped?: number;
}

const PAGE = 50;

/** Events of one attempt. The name is followed by what happened to the attempt. */
const ATTEMPTS: Readonly<Record<string, string>> = {
  started: 'started',
  attempt_failed: 'failed',
  timed_out: 'timed out',
};

const NAMES: Readonly<Record<string, string>> = {
  created: 'Created',
  updated: 'Changed',
  heartbeat_progress: 'Progress',
  succeeded: 'Succeeded',
  lease_expired: 'The lease ended without an answer',
  deferred: 'Deferred by the worker, not counted as an attempt',
  released: 'Given back by the worker',
  cancel_requested: 'Asked to stop',
  canceled: 'Canceled',
  expired: 'Expired',
  replayed: 'Retried by a user',
  no_retry: 'Failed, and the worker asked for no retry',
  paused: 'Paused',
  resumed: 'Resumed',
};

interface TimelineProps {
  readonly task: Pick<Task, 'id' | 'version' | 'worker' | 'worker_id'>;
  /** Counts changes by the user, after which the history is read again at once. */
  readonly changes: number;
  readonly nowMs: number;
}

/** The history of a task: the latest entries, the oldest of them first. */
export function Timeline({ task, changes, nowMs }: TimelineProps) {
  const { query } = useRoute();
  const { at = '' } = query;
  const path = `/tasks/${task.id}/history?order=desc&limit=${PAGE}${at === '' ? '' : `&cursor=${encodeURIComponent(at)}`}`;
  const { answer, error, reload } = usePolled<ListPage<Entry>>(path, { everyMs: 0 });
  // The version changes with the history, so that of a task that has ended is not read again and again.
  useEffect(reload, [task.version, changes]);
  if (answer === null) {
    return (
      <Panel title="What happened" flush>
        {error === null ? <Skeleton lines={6} /> : <Failure error={error} onRetry={reload} />}
      </Panel>
    );
  }
  const entries = [...answer.data].reverse();
  return (
    <Panel title="What happened">
      {(answer.next_cursor !== null || at !== '') && (
        <p class="timeline-pages">
          {answer.next_cursor !== null && (
            <Link query={{ ...query, at: answer.next_cursor }}>Earlier entries</Link>
          )}{' '}
          {at !== '' && <Link query={{ ...query, at: undefined }}>Latest entries</Link>}
        </p>
      )}
      <ol class="timeline">
        {entries.map((entry, i) => (
          <TimelineEntry
            key={entry.seq}
            entry={entry}
            task={task}
            isLast={i === entries.length - 1}
            before={entries[i - 1]}
            nowMs={nowMs}
          />
        ))}
      </ol>
    </Panel>
  );
}

interface EntryProps extends Pick<TimelineProps, 'task'> {
  readonly entry: Entry;
  /** Whether nothing has happened since, so that the answer of the worker matters now. */
  readonly isLast: boolean;
  readonly before: Entry | undefined;
  readonly nowMs: number;
}

function TimelineEntry({ entry, task, isLast, before, nowMs }: EntryProps) {
  const { at, to, http, error, next_attempt_at: next, note } = entry;
  return (
    <li class={`timeline-entry timeline-${to}`}>
      <p class="timeline-line">
        <strong>{nameOf(entry)}</strong>
        {http !== undefined && (
          <Chip kind={http.status < 300 ? 'allowed' : 'rejected'}>{`HTTP ${http.status}`}</Chip>
        )}
        {http !== undefined && <span>in {formatMs(http.duration_ms)}</span>}
        {entry.progress !== undefined && <span>{entry.progress} %</span>}
        {entry.dropped !== undefined && <span>{entry.dropped} entries were removed here</span>}
        <span class="quiet timeline-time">
          {before !== undefined && <span>+{gapText(before.at, at)}</span>} <Time iso={at} nowMs={nowMs} />
        </span>
      </p>
      {error !== undefined && (
        <p class="timeline-error">
          <code>{error.code}</code> {error.message}
        </p>
      )}
      {http?.response !== undefined && http.response !== '' && (
        <details class="timeline-answer" open={isLast && error !== undefined}>
          <summary>Answer of the worker{http.truncated ? ', the beginning' : ''}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long answer scrolls, also by keyboard */}
          <pre tabIndex={0}>{http.response}</pre>
        </details>
      )}
      <p class="quiet small">
        {next !== undefined && (
          <>
            next attempt due <Time iso={next} nowMs={nowMs} /> ·{' '}
          </>
        )}
        {entry.changed !== undefined && entry.changed.length > 0 && `changed: ${entry.changed.join(', ')} · `}
        {note !== undefined && note !== '' && `${note} · `}
        by <ActorName actor={entry.actor} worker={{ id: task.worker_id, name: task.worker }} />
      </p>
    </li>
  );
}

function nameOf({ event, attempt }: Entry): string {
  const ofAttempt = ATTEMPTS[event];
  if (ofAttempt !== undefined) return `Attempt ${attempt} ${ofAttempt}`;
  return NAMES[event] ?? event.replaceAll('_', ' ');
}

function gapText(from: string, to: string): string {
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 1000 ? formatMs(Math.max(0, ms)) : formatDuration(ms);
}
