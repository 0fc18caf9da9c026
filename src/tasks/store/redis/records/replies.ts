import { MsgpackReader } from '../../../../clients/redis/msgpack-reader.ts';
import { firstIdAt } from '../../../model/ids.ts';
import type { Task } from '../../../model/task.ts';
import type { CreateResult, TaskQuery } from '../../requests.ts';
import { taskOf } from './records.ts';

/** What a script answers: texts are bytes. */
export type Reply = readonly (Buffer | number | null)[];

/** Bounds of ids, as `ZRANGE … BYLEX` takes them, in the order asked for. An id begins with its time. */
export function idBounds({
  createdFrom,
  createdBefore,
  after,
  order,
}: TaskQuery): [from: string, to: string] {
  let low = createdFrom === null ? '-' : `[${firstIdAt('task', createdFrom)}`;
  let high = createdBefore === null ? '+' : `(${firstIdAt('task', createdBefore)}`;
  if (after !== null && order === 'asc' && (low === '-' || after >= low.slice(1))) low = `(${after}`;
  if (after !== null && order === 'desc' && (high === '+' || after < high.slice(1))) high = `(${after}`;
  return order === 'asc' ? [low, high] : [high, low];
}

/** Pairs of id and record. */
export function tasksOf(reply: Reply): Task[] {
  const tasks: Task[] = [];
  for (let i = 0; i < reply.length; i += 2) tasks.push(taskOf(String(reply[i]), reply[i + 1] as Buffer));
  return tasks;
}

/** What became of each task of a request, as the script packed and remembers it. */
export function resultsOf(packed: Buffer): CreateResult[] {
  if (packed.length === 0) return [];
  const reader = new MsgpackReader(packed);
  const count = reader.array();
  const results: CreateResult[] = [];
  for (let i = 0; i < count; i++) results.push(resultOf(reader, reader.array()));
  return results;
}

function resultOf(reader: MsgpackReader, parts: number): CreateResult {
  const kind = reader.value() as string;
  const id = parts > 1 ? (reader.value() as string) : '';
  if (kind === 'k') return { kind: 'refused', reason: 'task_key_exists', taskId: id };
  if (parts < 3) return { kind: 'refused', reason: REFUSALS[kind] };
  const task = taskOf(id, reader.bytes());
  if (kind === 'e') return { kind: 'existing', task, keyFreeAt: (reader.value() as number | false) || null };
  return { kind: kind === 'c' ? 'created' : 'replaced', task };
}

const REFUSALS: Readonly<Record<string, 'quota_exceeded' | 'worker_missing' | 'not_created'>> = {
  q: 'quota_exceeded',
  w: 'worker_missing',
  n: 'not_created',
};
