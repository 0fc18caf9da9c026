import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { ChangeForm } from '../../../design/change-form.tsx';
import { navigate } from '../../../design/route.ts';
import { ENDED_STATUSES, OPEN_STATUSES, type TaskStatus } from '../../../service/task-status.ts';
import { useAction } from '../../change/action.ts';
import { commandsOf } from '../../change/commands.ts';
import { useAllowed, useCall, useSession } from '../../session.ts';
import { EditDialog } from './edit-dialog.tsx';
import type { WholeTask } from './whole-task.ts';

type TaskAction = 'retry' | 'run' | 'pause' | 'resume' | 'cancel' | 'delete';

interface ActionWords {
  readonly button: string;
  readonly effect: string;
  /** Statuses of tasks that it applies to. */
  readonly of: readonly TaskStatus[];
}

const ACTIONS: Readonly<Record<TaskAction, ActionWords>> = {
  retry: { button: 'Retry', effect: 'It starts again, with all its attempts.', of: ENDED_STATUSES },
  run: {
    button: 'Run now',
    effect: 'It is due now. A pause of the worker and its rate do not hold it back; its concurrency does.',
    of: ['scheduled', 'retry'],
  },
  pause: { button: 'Pause', effect: 'It does not start until it is resumed.', of: ['scheduled', 'retry'] },
  resume: { button: 'Resume', effect: 'It starts when it is due.', of: ['paused'] },
  cancel: {
    button: 'Cancel',
    effect:
      'It does not start any more. If it is running, the connection to the worker is closed, or the pull worker is asked to stop.',
    of: OPEN_STATUSES,
  },
  delete: {
    button: 'Delete',
    effect: 'It is deleted with its history. This cannot be undone.',
    of: [...OPEN_STATUSES, ...ENDED_STATUSES],
  },
};

interface TaskActionsProps {
  readonly task: WholeTask;
  readonly onChanged: () => void;
}

/** What the caller may do with the task as it is now. */
export function TaskActions({ task, onChanged }: TaskActionsProps) {
  const { role } = useSession().me;
  const mayChange = useAllowed('tasks:write');
  const [open, setOpen] = useState<TaskAction | 'edit' | null>(null);
  if (!mayChange) return null;
  const shown = (Object.keys(ACTIONS) as TaskAction[]).filter(
    action =>
      ACTIONS[action].of.includes(task.status) &&
      (action !== 'delete' || ((role === 'owner' || role === 'admin') && task.status !== 'running')),
  );
  const close = () => setOpen(null);
  return (
    <div class="actions">
      {shown.map(action => (
        <Button key={action} onClick={() => setOpen(action)}>
          {ACTIONS[action].button}
        </Button>
      ))}
      {OPEN_STATUSES.includes(task.status) && <Button onClick={() => setOpen('edit')}>Edit</Button>}
      {open === 'edit' && <EditDialog task={task} onClose={close} onChanged={onChanged} />}
      {open !== null && open !== 'edit' && (
        <ActionDialog
          action={open}
          id={task.id}
          onClose={close}
          onDone={() => {
            close();
            if (open === 'delete') navigate('/', { view: 'tasks' });
            else onChanged();
          }}
        />
      )}
    </div>
  );
}

interface ActionDialogProps {
  readonly action: TaskAction;
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ActionDialog({ action, id, onClose, onDone }: ActionDialogProps) {
  const call = useCall();
  const { make, isBusy, faults } = useAction();
  const { button, effect } = ACTIONS[action];
  const request =
    action === 'delete'
      ? ({ method: 'DELETE', path: `/tasks/${id}` } as const)
      : ({ method: 'POST', path: `/tasks/${id}/${action}` } as const);
  return (
    <ChangeForm
      title={`${button} this task`}
      effect={effect}
      verb={`${button} this task`}
      isDangerous={action === 'cancel' || action === 'delete'}
      isBusy={isBusy}
      fault={faults.whole}
      commands={commandsOf([action, id], request)}
      onSubmit={() =>
        void make(() => call(request.path, { method: request.method })).then(isMade => isMade && onDone())
      }
      onClose={onClose}
    />
  );
}
