import { copySize, PAGE_SIZES } from '../../copies.ts';
import type { DocumentChange, PutDocument } from '../../documents.ts';
import type { Operation, OperationName, Runs } from '../../operations.ts';
import type { View, Work } from '../rows/work.ts';
import { change, remove } from './change.ts';
import { blocks, claim, setWakeup } from './claim.ts';
import { copyIn } from './copying-in.ts';
import { copyOut, recallAll } from './copying-out.ts';
import { create } from './create.ts';
import {
  accounts,
  apply,
  countDocuments,
  dueDocuments,
  findDocument,
  getDocument,
  listDocuments,
  recall,
  remember,
} from './documents.ts';
import { extend, leased, overdue, settle } from './leases.ts';
import {
  bodies,
  countDue,
  counts,
  dueOf,
  get,
  getWhole,
  history,
  list,
  now,
  openOfSchedule,
  search,
  tenants,
  wakeups,
} from './reads.ts';
import { FORGOTTEN_AT_ONCE, forgetTenant, purge } from './removal.ts';
import { addUsage, usage } from './usage.ts';

/** Operations that read. Each sees one state of the file and can run while another process writes. */
const READS = {
  get,
  getWhole,
  list,
  search,
  bodies,
  openOfSchedule,
  history,
  blocks,
  leased,
  overdue,
  wakeups,
  getDocument,
  findDocument,
  listDocuments,
  countDocuments,
  dueDocuments,
  recall,
  counts,
  countDue,
  dueOf,
  usage,
  copyOut,
  recallAll,
  tenants,
  accounts,
  now,
  lastUse: () => null,
} as const satisfies Partial<Runs<View>>;

/** Operations that write. Many of them run in one transaction, one after the other. */
const WRITES = {
  create,
  change,
  remove,
  claim,
  settle,
  extend,
  setWakeup,
  apply,
  remember,
  addUsage,
  purge,
  forgetTenant,
  copyIn,
  ping,
} as const satisfies Runs<Work, Exclude<OperationName, keyof typeof READS>>;

/** Writes nothing. It shows whether a transaction succeeds; see `SqliteEngine`. */
function ping(): void {}

export function isRead(operation: Operation): operation is Operation<keyof typeof READS> {
  return operation.name in READS;
}

export function read(view: View, { name, args }: Operation<keyof typeof READS>): unknown {
  return (READS[name] as (view: View, ...args: unknown[]) => unknown)(view, ...args);
}

export function write(work: Work, { name, args }: Operation): unknown {
  return (WRITES[name as keyof typeof WRITES] as (work: Work, ...args: unknown[]) => unknown)(work, ...args);
}

/** The weight of a search. It reads many tasks, most of which are stored next to each other. */
const SEARCH_WEIGHT = 128;

/** The weight of reading the due tasks of a tenant: most tenants have a few workers, some have hundreds. */
const DUE_WEIGHT = 64;

/** The weight of an operation, where reading one task is 1. */
export function weightOf({ name, args }: Operation): number {
  switch (name) {
    case 'create':
      return Math.max(1, args[1].tasks.length);
    case 'claim':
      return Math.max(1, args[1].leaseIds.length);
    case 'settle':
      return Math.max(1, args[1].length);
    case 'purge':
      return Math.max(1, args[2]);
    case 'forgetTenant':
      return FORGOTTEN_AT_ONCE;
    case 'apply':
      return 1 + args[1].length;
    case 'bodies':
      return 1 + args[1].length;
    case 'addUsage':
      return 1 + args[1].length;
    case 'usage':
      return 1 + args[1].intervals;
    case 'copyOut':
      return 1 + PAGE_SIZES[args[1].part];
    case 'recallAll':
      return 1 + PAGE_SIZES.answer;
    case 'copyIn':
      return 1 + args[1].length;
    case 'list':
    case 'listDocuments':
      return 1 + args[1].limit;
    case 'accounts':
      return 1 + args[1];
    case 'history':
      return 1 + args[2].limit;
    case 'search':
      return SEARCH_WEIGHT;
    case 'dueOf':
      return DUE_WEIGHT;
    default:
      return 1;
  }
}

/** Size of the small parts of an operation, in characters. */
const SMALL = 1_024;

/** Approximate memory of a waiting operation, in characters. */
export function sizeOf({ name, args }: Operation): number {
  switch (name) {
    case 'create':
      return args[1].tasks.reduce((sum, { body }) => sum + SMALL + (body.payload?.length ?? 0), SMALL);
    case 'settle':
      return args[1].reduce(
        (sum, { result, http }) => sum + SMALL + (result?.length ?? 0) + (http?.response.length ?? 0),
        SMALL,
      );
    case 'change':
      return SMALL + (args[2].patch.payload?.length ?? 0);
    case 'apply':
      return args[1].reduce((sum, change) => sum + SMALL + payloadSize(change), SMALL);
    case 'copyIn':
      return args[1].reduce((sum, copy) => sum + SMALL + copySize(copy), SMALL);
    default:
      return SMALL;
  }
}

/** Only schedules can have large bodies. */
function payloadSize(change: DocumentChange): number {
  if (change.op !== 'put' || change.kind !== 'schedule') return 0;
  return (change as PutDocument<'schedule'>).body.task.payload?.length ?? 0;
}
