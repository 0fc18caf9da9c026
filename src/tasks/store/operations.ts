import type { TaskStore } from './task-store.ts';

/** Names of the operations of a {@link TaskStore}, which the stores implement. */
export type OperationName = Exclude<keyof TaskStore, 'name' | 'start' | 'stop'>;
export type ArgumentsOf<N extends OperationName> = Parameters<TaskStore[N]>;
export type AnswerOf<N extends OperationName> = Awaited<ReturnType<TaskStore[N]>>;

/** One operation with its arguments. */
export type Operation<N extends OperationName = OperationName> = {
  [K in N]: { readonly name: K; readonly args: ArgumentsOf<K> };
}[N];

/** Functions for operations that a store runs in a context of its own. */
export type Runs<C, N extends OperationName = OperationName> = {
  readonly [K in N]: (context: C, ...args: ArgumentsOf<K>) => AnswerOf<K>;
};

/** All operations: those of one tenant, whose first argument is the tenant, and those of all. */
const OPERATIONS = {
  ping: 'all',
  lastUse: 'all',
  create: 'tenant',
  get: 'tenant',
  getWhole: 'tenant',
  change: 'tenant',
  remove: 'tenant',
  list: 'tenant',
  search: 'tenant',
  bodies: 'tenant',
  openOfSchedule: 'tenant',
  history: 'tenant',
  claim: 'tenant',
  blocks: 'tenant',
  settle: 'tenant',
  extend: 'tenant',
  leased: 'tenant',
  overdue: 'all',
  wakeups: 'all',
  setWakeup: 'tenant',
  apply: 'tenant',
  getDocument: 'tenant',
  findDocument: 'tenant',
  listDocuments: 'tenant',
  countDocuments: 'tenant',
  dueDocuments: 'all',
  recall: 'tenant',
  remember: 'tenant',
  counts: 'tenant',
  countDue: 'all',
  dueOf: 'tenant',
  addUsage: 'tenant',
  usage: 'tenant',
  purge: 'tenant',
  forgetTenant: 'tenant',
  copyOut: 'tenant',
  recallAll: 'all',
  copyIn: 'tenant',
  tenants: 'all',
  accounts: 'all',
  now: 'all',
} as const satisfies { readonly [N in OperationName]: 'tenant' | 'all' };

export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

/** The tenant of an operation; empty for operations about all tenants. No tenant has an empty name. */
export function tenantOf({ name, args }: Operation): string {
  return OPERATIONS[name] === 'all' ? '' : (args[0] as string);
}

/** Runs the operations of a store, for example in another thread. */
export interface Operator {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** @throws (rejects with) Fault */
  ask<N extends OperationName>(name: N, args: ArgumentsOf<N>): Promise<AnswerOf<N>>;
}

/** A store whose operations an operator runs. */
export function storeOf(name: TaskStore['name'], operator: Operator): TaskStore {
  const operations = OPERATION_NAMES.map(each => [
    each,
    (...args: unknown[]) => operator.ask(each, args as ArgumentsOf<typeof each>),
  ]);
  return {
    name,
    start: () => operator.start(),
    stop: () => operator.stop(),
    ...(Object.fromEntries(operations) as Pick<TaskStore, OperationName>),
  };
}
