import { createHash } from 'node:crypto';
import { TASK_STATUSES } from '../../../model/task.ts';
import { CHANGE, FORGET, PURGE, REMOVE } from './change.ts';
import { BLOCKS, CLAIM, PEEK_WORKER } from './claim.ts';
import { BEGIN, ENDING, TASKS } from './common.ts';
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
import { BODIES, COUNTS, HISTORY, LIST, LIST_DUE, LIST_OF_KEY, OVERDUE, SURVEY } from './read.ts';
import { TASK_FIELDS } from './records.ts';
import { EXTEND, FIND_LEASED, SETTLE } from './settle.ts';

/** A script that Redis runs, for one tenant, in one step. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

/**
 * The first line makes Redis hold a script to what it says: keys of one slot only. `reads`: it runs also where nothing
 * can be written · `ends`: it runs also when memory is full, since it makes room, or lets tasks come to their end
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

/** Names of statuses and fields as the numbers that they stand for. */
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
  apply: script('apply', 'writes', DOCUMENTS, IDEMPOTENCY, APPLY),
  recall: script('recall', 'reads', IDEMPOTENCY, RECALL),
  remember: script('remember', 'writes', IDEMPOTENCY, REMEMBER),
  leased: script('leased', 'reads', TASKS, FIND_LEASED),
  list: script('list', 'reads', LIST),
  listDue: script('listDue', 'reads', LIST_DUE),
  listOfKey: script('listOfKey', 'reads', LIST_OF_KEY),
  bodies: script('bodies', 'reads', BODIES),
  history: script('history', 'reads', HISTORY),
  counts: script('counts', 'reads', COUNTS),
  overdue: script('overdue', 'reads', OVERDUE),
  survey: script('survey', 'reads', SURVEY),
  peek: script('peek', 'ends', PEEK_WORKER),
  findDocument: script('findDocument', 'reads', FIND_DOCUMENT),
  listDocuments: script('listDocuments', 'reads', LIST_DOCUMENTS),
  dueDocuments: script('dueDocuments', 'reads', DUE_DOCUMENTS),
} satisfies Record<string, Script>;

/** Scripts that may look at hundreds of tasks or documents, or more, whatever their arguments are. */
export const HEAVY: ReadonlySet<Script> = new Set<Script>([
  SCRIPTS.purge,
  SCRIPTS.forget,
  SCRIPTS.list,
  SCRIPTS.listDue,
  SCRIPTS.listOfKey,
  SCRIPTS.bodies,
  SCRIPTS.history,
  SCRIPTS.overdue,
  SCRIPTS.survey,
  SCRIPTS.listDocuments,
  SCRIPTS.dueDocuments,
]);
