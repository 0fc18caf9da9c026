import { nearest } from '../../base/nearest.ts';
import { UsageFault } from '../command-fault.ts';
import type { CliIo } from '../io.ts';
import { cancelTasks, pauseTasks, resumeTasks, retryTasks } from './act-on-tasks.ts';
import { createAccount } from './create-account.ts';
import { createTask } from './create-task.ts';
import { listTasks, showTask } from './list-tasks.ts';
import { showHistory } from './task-history.ts';
import { schedules } from './task-schedules.ts';
import { addWorker, workers } from './task-workers.ts';

type Part = (args: readonly string[], io: CliIo) => Promise<number>;

const PARTS: Readonly<Record<string, Part>> = {
  'create-account': createAccount,
  'add-worker': addWorker,
  workers,
  create: createTask,
  list: listTasks,
  show: showTask,
  history: showHistory,
  retry: retryTasks,
  cancel: cancelTasks,
  pause: pauseTasks,
  resume: resumeTasks,
  schedules,
};

/**
 * `sluice tasks`: what people do every day with the task service, over its REST interface.
 *
 * @returns the exit status
 * @throws CommandFault when the arguments are wrong, the service cannot be asked, or it refuses
 */
export async function runTasks(args: readonly string[], io: CliIo): Promise<number> {
  const [name = '', ...rest] = args;
  const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  if (part !== undefined) return await part(rest, io);
  const names = Object.keys(PARTS);
  if (name === '' || name.startsWith('-')) throw new UsageFault(`say what: ${names.join(', ')}.`);
  const meant = nearest(name, names);
  throw new UsageFault(`there is no "${name}".${meant === null ? '' : ` Did you mean "${meant}"?`}`);
}
