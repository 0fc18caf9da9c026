import { useEffect, useRef, useState } from 'preact/hooks';
import { ChangeForm, type Commands } from '../../../design/change-form.tsx';
import { formatCount } from '../../../design/format.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useCall } from '../../session.ts';
import { filterText } from './task-filter.ts';

export type BulkAction = 'retry' | 'run' | 'pause' | 'resume' | 'cancel' | 'delete';

/** The tasks that an action is for. */
export type Targets =
  | { readonly ids: readonly string[] }
  | { readonly filter: Readonly<Record<string, string>> };

/** Answer of `POST /api/v1/tasks/actions`. */
interface Result {
  readonly matched: number;
  readonly changed: number;
  readonly skipped: readonly { readonly id: string; readonly code: string }[];
  readonly next_cursor: string | null;
}

/** Sums of the answers so far. */
interface Progress extends Pick<Result, 'matched' | 'changed'> {
  /** How many tasks were skipped, by the reason. */
  readonly skipped: ReadonlyMap<string, number>;
  readonly isComplete: boolean;
}

/** Tasks for each request, so that the progress is seen and the dialog can stop it. */
const CHUNK = 1_000;
/** The first look counts at most this many. */
const COUNTED = 10_000;

const WORDS: Readonly<
  Record<BulkAction, { readonly title: string; readonly effect: string; readonly done: string }>
> = {
  retry: { title: 'Retry tasks', effect: 'will start again, with all their attempts', done: 'Started again' },
  run: { title: 'Run tasks now', effect: 'will be due now', done: 'Due now' },
  pause: { title: 'Pause tasks', effect: 'will not start until they are resumed', done: 'Paused' },
  resume: { title: 'Resume tasks', effect: 'will start when they are due', done: 'Resumed' },
  cancel: { title: 'Cancel tasks', effect: 'will not start, or will be asked to stop', done: 'Canceled' },
  delete: {
    title: 'Delete tasks',
    effect: 'will be deleted with their history, which cannot be undone',
    done: 'Deleted',
  },
};

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly targets: Targets;
  /** @param isDone whether tasks were changed */
  readonly onClose: (isDone: boolean) => void;
}

/** Counts the tasks that an action would change, asks, and then changes them step by step. */
export function BulkDialog({ action, targets, onClose }: BulkDialogProps) {
  const call = useCall();
  const asked = useAction();
  const made = useAction();
  const [plan, setPlan] = useState<Result | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const isEnded = useRef(false);
  useEffect(() => {
    const body = { action, ...targets, dry_run: true, ...('filter' in targets && { limit: COUNTED }) };
    void asked.make(async () => setPlan(await call<Result>('/tasks/actions', { method: 'POST', body })));
    return () => {
      isEnded.current = true;
    };
  }, []);
  const run = () =>
    made.make(async () => {
      let sum: Progress = { matched: 0, changed: 0, skipped: new Map(), isComplete: false };
      let cursor: string | null = null;
      do {
        const body: Record<string, unknown> = { action, ...targets };
        if ('filter' in targets) Object.assign(body, { limit: CHUNK, ...(cursor !== null && { cursor }) });
        const result: Result = await call<Result>('/tasks/actions', { method: 'POST', body });
        cursor = result.next_cursor;
        sum = added(sum, result);
        setProgress(sum);
      } while (cursor !== null && !isEnded.current);
    });
  const { title, effect, done } = WORDS[action];
  if (progress?.isComplete) {
    return (
      <ChangeForm
        title={title}
        effect={`${done}: ${tasksText(progress.changed)}.${skippedText(progress)}`}
        verb="Done"
        isBusy={false}
        fault=""
        commands={null}
        onSubmit={() => onClose(true)}
        onClose={() => onClose(true)}
      />
    );
  }
  return (
    <ChangeForm
      title={title}
      effect={
        progress === null
          ? planText(plan, targets, effect)
          : `${formatCount(progress.changed)} of ${formatCount(progress.matched)} so far. Closing stops after these.`
      }
      verb={
        plan === null
          ? 'Counting…'
          : `${title.split(' ')[0]} ${tasksText(plan.changed)}${plan.next_cursor === null ? '' : ' or more'}`
      }
      isDangerous={action === 'cancel' || action === 'delete'}
      isBusy={made.isBusy}
      isIncomplete={plan === null || (plan.changed === 0 && plan.next_cursor === null)}
      fault={asked.faults.whole || made.faults.whole || Object.values(asked.faults.fields).join(' ')}
      commands={commandsFor(action, targets)}
      onSubmit={() => void run()}
      onClose={() => onClose(progress !== null)}
    />
  );
}

function added(sum: Progress, result: Result): Progress {
  const skipped = new Map(sum.skipped);
  for (const { code } of result.skipped) skipped.set(code, (skipped.get(code) ?? 0) + 1);
  return {
    matched: sum.matched + result.matched,
    changed: sum.changed + result.changed,
    skipped,
    isComplete: result.next_cursor === null,
  };
}

function planText(plan: Result | null, targets: Targets, effect: string): string {
  if (plan === null) return 'Counting the tasks…';
  const which = 'filter' in targets ? ` (${filterText(targets.filter)})` : '';
  const more = plan.next_cursor === null ? '' : ' or more';
  const { matched, changed } = plan;
  const others =
    matched > changed
      ? ` ${tasksText(matched - changed)} cannot be changed this way and will stay as they are.`
      : '';
  return `${tasksText(changed)}${more}${which} ${effect}.${others}`;
}

function skippedText({ matched, changed, skipped }: Progress): string {
  if (matched === changed) return '';
  const reasons = [...skipped].map(([code, count]) => `${formatCount(count)} ${code}`).join(', ');
  return ` Unchanged: ${tasksText(matched - changed)}${reasons === '' ? '' : ` (${reasons})`}.`;
}

function tasksText(count: number): string {
  return count === 1 ? '1 task' : `${formatCount(count)} tasks`;
}

function commandsFor(action: BulkAction, targets: Targets): Commands {
  const words =
    'ids' in targets
      ? targets.ids
      : Object.entries(targets.filter).flatMap(([name, value]) => [`--${name}`, value]);
  return commandsOf([action, ...words], {
    method: 'POST',
    path: '/tasks/actions',
    body: { action, ...targets },
  });
}
