import { createHash } from 'node:crypto';
import { BLOCKS } from '../sql/claims/blocks.ts';
import { CANDIDATES, GROUP_CANDIDATES } from '../sql/claims/candidates.ts';
import { BOUNDS, CLAIM, START } from '../sql/claims/claim.ts';
import { GROUP_LINES } from '../sql/claims/group-lines.ts';
import { GROUPS } from '../sql/claims/groups.ts';
import { HINTS } from '../sql/claims/hints.ts';
import { COPY_IN } from '../sql/copies/copy-in.ts';
import { COPY_OUT } from '../sql/copies/copy-out.ts';
import { APPLY, PUT_DOCUMENT } from '../sql/documents/changes.ts';
import { DUE_DOCUMENTS, FIND_DOCUMENTS } from '../sql/documents/find.ts';
import { IDEMPOTENCY } from '../sql/documents/idempotency.ts';
import { DUE } from '../sql/lists/due.ts';
import { LISTS, READS } from '../sql/lists/reads.ts';
import { LOOKOUT } from '../sql/lookout.ts';
import { NAMES } from '../sql/names.ts';
import { REMOVAL } from '../sql/removal.ts';
import { TALLIES } from '../sql/tallies.ts';
import { CALLBACKS } from '../sql/tasks/callbacks.ts';
import { CHANGE } from '../sql/tasks/change.ts';
import { CONTENT } from '../sql/tasks/content.ts';
import { CREATE, CREATE_REQUEST, INSERT, NEW_KEYS } from '../sql/tasks/create.ts';
import { KEYS } from '../sql/tasks/keys.ts';
import { LEASES } from '../sql/tasks/leases.ts';
import { SAVING } from '../sql/tasks/saving.ts';
import { SETTLE } from '../sql/tasks/settle.ts';
import { USAGE } from '../sql/usage.ts';

const TEXTS = [
  ...[NAMES, TALLIES, HINTS, GROUPS, SAVING, KEYS, CALLBACKS, CONTENT, IDEMPOTENCY, PUT_DOCUMENT, APPLY],
  ...[INSERT, NEW_KEYS, CREATE, CREATE_REQUEST, CHANGE, CANDIDATES, GROUP_CANDIDATES, GROUP_LINES, BOUNDS],
  ...[START, CLAIM, SETTLE, LEASES, FIND_DOCUMENTS, DUE_DOCUMENTS, READS, LISTS, DUE, BLOCKS, USAGE, REMOVAL],
  ...[LOOKOUT, COPY_OUT, COPY_IN],
];

/** Functions that the store calls. They call the others. */
const CALLED = [
  'accounts',
  'add_usage',
  'apply',
  'blocks',
  'bodies',
  'change',
  'claim',
  'copy_documents',
  'copy_in',
  'copy_tasks',
  'copy_usage',
  'count_documents',
  'count_due',
  'counts',
  'create_several',
  'create_tasks',
  'due_documents',
  'due_of',
  'extend_several',
  'find_document',
  'forget_tenant',
  'get',
  'get_document',
  'get_whole',
  'history',
  'last_use',
  'leased',
  'list',
  'list_documents',
  'list_due',
  'look',
  'oldest',
  'open_of_schedule',
  'overdue',
  'ping',
  'purge',
  'recall_all',
  'recalled',
  'remember',
  'remove',
  'set_wakeup',
  'settle',
  'tenants',
  'usage',
  'wakeups',
] as const;
export type CalledFunction = (typeof CALLED)[number];

/**
 * How statements in functions are planned. A plan is made once for each connection, often while the tables are empty or have
 * just grown, when PostgreSQL would read whole tables. Each statement has an index that serves it.
 */
const PLANNING = [
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'plan_cache_mode = force_generic_plan',
  'jit = off',
];

/**
 * Functions in which each statement with an order and a limit is to read an index in this order. If an index was empty when
 * PostgreSQL looked last, or rows of one kind are rare, it would prefer to read all of another one, and to sort.
 */
const ORDERED = [
  'copy_documents',
  'copy_tasks',
  'copy_usage',
  'due_of',
  'due_tasks',
  'forget_idle',
  'group_candidates',
  'is_held_by_group',
  'list',
  'list_due',
  'look',
  'look_at_all',
  'look_at_first',
  'next_due',
  'next_group',
  'next_groups',
  'oldest',
  'open_of_schedule',
  'over_tasks',
  'overdue',
  'ping',
  'purge_others',
  'read_due',
  'recall_all',
  'some_group_is_full',
];

const UNSORTED = ['enable_sort = off', 'enable_incremental_sort = off'];

const TEXT = [
  ...TEXTS,
  ...CALLED.flatMap(name => PLANNING.map(setting => `ALTER FUNCTION fn.${name} SET ${setting};\n`)),
  ...ORDERED.flatMap(name => UNSORTED.map(setting => `ALTER FUNCTION fn.${name} SET ${setting};\n`)),
].join('');

/**
 * The schema of the functions of this version. Its name is a digest of their texts, so that versions that run at the same time
 * do not replace each other's functions.
 */
export const FUNCTION_SCHEMA = `sluice_${createHash('sha256').update(TEXT).digest('hex').slice(0, 12)}`;

/** Creates the functions. `fn` in their texts stands for the schema. */
export const FUNCTIONS = TEXT.replaceAll(/\bfn\./g, `${FUNCTION_SCHEMA}.`);
