import { createHash } from 'node:crypto';
import { TASK_STATUSES } from '../../../model/task.ts';
import { CHANGE, FORGET, PURGE, REMOVE } from './change.ts';
import { BLOCKS, CLAIM, PEEK_WORKER } from './claim.ts';
import { BEGIN, ENDING, TASKS } from './common.ts';
import { COPY_DOCUMENTS, COPY_IN, COPY_TASKS, COPY_USAGE } from './copies.ts';
import { CREATE, EDIT } from './create.ts';
import {
  APPLY,
  DOCUMENTS,
  DUE_DOCUMENTS,
  FIND_DOCUMENT,
  IDEMPOTENCY,
  LIST_DOCUMENTS,
  RECALL,
  REMEMBER,
} from './documents.ts';
import { BODIES, COUNTS, DUE_OF, HISTORY, LIST, LIST_DUE, LIST_OF_KEY, OVERDUE, SURVEY } from './read.ts';
import { TASK_FIELDS } from './records.ts';
import { EXTEND, FIND_LEASED, SETTLE } from './settle.ts';
import { ADD_USAGE, USAGE } from './usage.ts';

/** A script that Redis runs atomically for one tenant. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

/**
 * Flags in the first line of a script, which Redis enforces. A script with this line can only use keys of one slot.
 * `reads`: also runs if nothing can be written · `ends`: also runs if memory is full, because it frees memory or lets tasks
 * end
 */
const FLAGS = { writes: '', reads: ' flags=no-writes', ends: ' flags=allow-oom' };

function script(name: string, flags: keyof typeof FLAGS, ...parts: string[]): Script {
  const text = `#!lua${FLAGS[flags]}\n${withNumbers([BEGIN, ...parts].join(''))}`;
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...TASK_STATUSES.map((name, at) => [name.toUpperCase(), at] as const),
  ...TASK_FIELDS.map((name, at) => [`F_${name}`, at + 1] as const),
]);

/** Replaces names of statuses and fields by their numbers. */
function withNumbers(text: string): string {
  return text.replace(/\b(?:F_\w+|[A-Z]{5,})\b/g, name => String(NUMBERS.get(name) ?? name));
}

export const SCRIPTS = {
  create: script('create', 'writes', TASKS, IDEMPOTENCY, EDIT, CREATE),
  createWithDocuments: script('createWithDocuments', 'writes', TASKS, DOCUMENTS, IDEMPOTENCY, EDIT, CREATE),
  change: script('change', 'ends', TASKS, ENDING, EDIT, CHANGE),
  remove: script('remove', 'ends', TASKS, ENDING, REMOVE),
  claim: script('claim', 'writes', TASKS, CLAIM),
  blocks: script('blocks', 'reads', BLOCKS),
  settle: script('settle', 'ends', TASKS, ENDING, SETTLE),
  extend: script('extend', 'ends', TASKS, EXTEND),
  purge: script('purge', 'ends', TASKS, ENDING, PURGE),
  forget: script('forget', 'ends', FORGET),
  copyIn: script('copyIn', 'writes', TASKS, DOCUMENTS, COPY_IN),
  apply: script('apply', 'writes', DOCUMENTS, IDEMPOTENCY, APPLY),
  recall: script('recall', 'reads', IDEMPOTENCY, RECALL),
  remember: script('remember', 'writes', IDEMPOTENCY, REMEMBER),
  leased: script('leased', 'reads', TASKS, FIND_LEASED),
  list: script('list', 'reads', LIST),
  listDue: script('listDue', 'reads', LIST_DUE),
  listOfKey: script('listOfKey', 'reads', LIST_OF_KEY),
  bodies: script('bodies', 'reads', BODIES),
  history: script('history', 'reads', HISTORY),
  copyDocuments: script('copyDocuments', 'reads', COPY_DOCUMENTS),
  copyTasks: script('copyTasks', 'reads', COPY_TASKS),
  copyUsage: script('copyUsage', 'reads', COPY_USAGE),
  counts: script('counts', 'reads', COUNTS),
  dueOf: script('dueOf', 'reads', DUE_OF),
  overdue: script('overdue', 'reads', OVERDUE),
  survey: script('survey', 'reads', SURVEY),
  peek: script('peek', 'ends', PEEK_WORKER),
  addUsage: script('addUsage', 'writes', ADD_USAGE),
  usage: script('usage', 'reads', USAGE),
  findDocument: script('findDocument', 'reads', FIND_DOCUMENT),
  listDocuments: script('listDocuments', 'reads', LIST_DOCUMENTS),
  dueDocuments: script('dueDocuments', 'reads', DUE_DOCUMENTS),
} satisfies Record<string, Script>;

/** Scripts that may read hundreds of tasks or documents, or more, with any arguments. */
export const HEAVY: ReadonlySet<Script> = new Set<Script>([
  SCRIPTS.purge,
  SCRIPTS.forget,
  SCRIPTS.list,
  SCRIPTS.listDue,
  SCRIPTS.listOfKey,
  SCRIPTS.bodies,
  SCRIPTS.history,
  SCRIPTS.copyIn,
  SCRIPTS.copyDocuments,
  SCRIPTS.copyTasks,
  SCRIPTS.copyUsage,
  SCRIPTS.dueOf,
  SCRIPTS.overdue,
  SCRIPTS.survey,
  SCRIPTS.addUsage,
  SCRIPTS.usage,
  SCRIPTS.listDocuments,
  SCRIPTS.dueDocuments,
]);
