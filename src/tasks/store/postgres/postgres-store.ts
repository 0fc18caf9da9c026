import { USAGE_SPANS } from '../../model/usage.ts';
import { STATUS_CODES } from '../codes.ts';
import type { EntryValues } from '../entry-row.ts';
import { droppedOf, withGap } from '../history-gap.ts';
import type { Block, RemoveAnswer, StatusCounts, TaskChange } from '../requests.ts';
import { READ_BYTES, type TaskStore } from '../task-store.ts';
import type { PostgresTaskStoreOptions } from './connection/options.ts';
import { PostgresClient } from './connection/postgres-client.ts';
import { Functions } from './functions.ts';
import { list, search } from './lists.ts';
import { Lookout } from './lookout.ts';
import { OldestData } from './oldest-data.ts';
import { PostgresCopies } from './postgres-copies.ts';
import { PostgresDocuments } from './postgres-documents.ts';
import {
  bodiesOf,
  type ClaimValues,
  type CreateValues,
  claimAnswer,
  createAnswer,
  type OverdueValues,
  overdueOf,
  type ResultValues,
  type SettleValues,
  settleAnswer,
} from './rows/answers.ts';
import {
  blockedWorkersText,
  claimText,
  createText,
  extensionText,
  incrementsText,
  newTaskTexts,
  pairsOf,
  patchText,
  settlementTexts,
} from './rows/encoding.ts';
import { entryOf } from './rows/history-row.ts';
import { storedActor } from './rows/plain-text.ts';
import { type BodyValues, bodyOf, type TaskValues, taskOf } from './rows/task-row.ts';
import { startPostgres } from './start.ts';

/** Each call of `forgetTenant` removes the first remaining rows, so one value stands for all places except the end. */
const NEXT = 'next';

/**
 * Tasks in PostgreSQL. Each operation is one call of a function (`sql`), and so one transaction and one round trip. Nothing
 * is kept in a session, so a pooler may stand between.
 */
export class PostgresTaskStore implements TaskStore {
  readonly name = 'postgres';
  readonly #options: PostgresTaskStoreOptions;
  readonly #client: PostgresClient;
  readonly #functions: Functions;
  readonly #copies: PostgresCopies;
  readonly #documents: PostgresDocuments;
  readonly #lookout: Lookout;
  readonly #oldest: OldestData;

  constructor(options: PostgresTaskStoreOptions) {
    this.#options = options;
    this.#client = new PostgresClient(options);
    this.#functions = new Functions(this.#client, options.time);
    this.#copies = new PostgresCopies(this.#functions, this.now);
    this.#documents = new PostgresDocuments(this.#functions);
    const monotonicMs = () => performance.now();
    this.#lookout = new Lookout(this.#functions, monotonicMs);
    this.#oldest = new OldestData(this.#functions, monotonicMs, this.now);
  }

  /** @throws Error that names the server, what is wrong with it and how to correct it */
  start(): Promise<void> {
    return startPostgres(this.#client, this.#options);
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }

  readonly ping: TaskStore['ping'] = () => this.#lookout.ping();

  readonly lastUse: TaskStore['lastUse'] = async () =>
    (await this.#functions.read('last_use', [], '')) as number | null;

  readonly now: TaskStore['now'] = async () => this.#functions.ownTime() ?? this.#lookout.now();

  readonly create: TaskStore['create'] = async (tenant, request) => {
    const { tasks, atomic, idempotency, documents, maxOpen, actor } = request;
    const texts = newTaskTexts(tasks);
    const dependsOnNothing = idempotency === undefined && documents === undefined;
    if (dependsOnNothing && (!atomic || tasks.length === 1)) {
      const args = [tenant, maxOpen, storedActor(actor)];
      const results = await this.#functions.writeItems('create_several', args, tenant, texts);
      return createAnswer(['done', results as ResultValues[]], tasks, '');
    }
    const args = [tenant, createText(request), `[${texts.join(',')}]`];
    const answer = (await this.#functions.write('create_tasks', args, tenant)) as CreateValues;
    return createAnswer(answer, tasks, idempotency?.note ?? '');
  };

  readonly get: TaskStore['get'] = async (tenant, id) => {
    const found = await this.#functions.read('get', [tenant, id], tenant);
    return found === null ? null : taskOf(found as TaskValues);
  };

  readonly getWhole: TaskStore['getWhole'] = async (tenant, id) => {
    const found = await this.#functions.read('get_whole', [tenant, id], tenant);
    if (found === null) return null;
    const [task, ...body] = found as readonly [TaskValues, ...BodyValues];
    return { task: taskOf(task), body: bodyOf(body) };
  };

  readonly change: TaskStore['change'] = async (tenant, id, change) => {
    const [kind, values] = await this.#change(tenant, id, change);
    if (kind === 'missing') return { kind: 'refused', reason: 'missing', task: null };
    const task = taskOf(values);
    if (kind === 'done' || kind === 'unchanged') return { kind, task };
    return { kind: 'refused', reason: kind, task };
  };

  async #change(
    tenant: string,
    id: string,
    { action, patch, expectVersion, actor }: TaskChange,
  ): Promise<
    readonly ['missing'] | readonly ['done' | 'unchanged' | 'status' | 'version' | 'key_taken', TaskValues]
  > {
    const args = [tenant, id, action, patchText(patch), expectVersion, storedActor(actor)];
    return (await this.#functions.write('change', args, tenant)) as never;
  }

  readonly remove: TaskStore['remove'] = async (tenant, id, expectVersion) =>
    (await this.#functions.write('remove', [tenant, id, expectVersion], tenant)) as RemoveAnswer;

  readonly list: TaskStore['list'] = (tenant, query) => list(this.#functions, tenant, query);

  readonly search: TaskStore['search'] = (tenant, wanted) => search(this.#functions, tenant, wanted);

  readonly bodies: TaskStore['bodies'] = async (tenant, ids) => {
    const rows = await this.#functions.read('bodies', [tenant, ids, READ_BYTES], tenant);
    return bodiesOf(ids, (rows ?? []) as (BodyValues | null)[]);
  };

  readonly openOfSchedule: TaskStore['openOfSchedule'] = async (tenant, scheduleId, limit) =>
    (await this.#functions.read('open_of_schedule', [tenant, scheduleId, limit], tenant)) as string[];

  readonly history: TaskStore['history'] = async (tenant, id, query) => {
    const { after, limit, order } = query;
    const found = await this.#functions.read('history', [tenant, id, after, limit, order === 'desc'], tenant);
    if (found === null) return null;
    const [count, rows, before] = found as readonly [number, EntryValues[], EntryValues | null];
    const entries = rows.map(entryOf);
    const dropped = droppedOf(count);
    return dropped === 0 || before === null ? entries : withGap(entries, entryOf(before), dropped, query);
  };

  readonly claim: TaskStore['claim'] = async (tenant, request) => {
    const args = [tenant, request.workerId, request.leaseIds, claimText(request)];
    return claimAnswer((await this.#functions.write('claim', args, tenant)) as ClaimValues);
  };

  readonly blocks: TaskStore['blocks'] = async (tenant, query) => {
    if (query.workers.length === 0) return [];
    const rows = await this.#functions.readNow('blocks', [tenant, blockedWorkersText(query)], tenant);
    return query.workers.map((_, i) => (rows as Block[])[i] ?? null);
  };

  readonly settle: TaskStore['settle'] = async (tenant, settlements) => {
    if (settlements.length === 0) return [];
    const texts = settlementTexts(settlements);
    const rows = await this.#functions.writeItems('settle', [tenant], tenant, texts);
    return (rows as SettleValues[]).map(settleAnswer);
  };

  readonly extend: TaskStore['extend'] = async (tenant, leaseId, ms, progress) => {
    const texts = [extensionText(leaseId, ms, progress)];
    const [found] = (await this.#functions.writeItems('extend_several', [tenant], tenant, texts)) as (
      | readonly [until: number, cancelRequested: boolean]
      | null
    )[];
    return found === null
      ? { kind: 'lost' }
      : { kind: 'extended', until: found[0], cancelRequested: found[1] };
  };

  readonly leased: TaskStore['leased'] = async (tenant, leaseId) => {
    const found = await this.#functions.read('leased', [tenant, leaseId], tenant);
    return found === null ? null : taskOf(found as TaskValues);
  };

  readonly overdue: TaskStore['overdue'] = async max => {
    if (!(await this.#lookout.isAny('overdue'))) return [];
    return overdueOf((await this.#functions.readNow('overdue', [max], '')) as OverdueValues[]);
  };

  readonly wakeups: TaskStore['wakeups'] = async (until, max) => {
    if (!(await this.#lookout.isAny('wakeups', until))) return [];
    const rows = (await this.#functions.read('wakeups', [until, max], '')) as
      | (readonly [tenant: string, workerId: string, at: number])[]
      | null;
    return (rows ?? []).map(([tenant, workerId, at]) => ({ tenant, workerId, at }));
  };

  readonly setWakeup: TaskStore['setWakeup'] = async (tenant, workerId, at) => {
    await this.#functions.write('set_wakeup', [tenant, workerId, at], tenant);
  };

  readonly apply: TaskStore['apply'] = (tenant, changes, idempotency) =>
    this.#documents.apply(tenant, changes, idempotency);

  readonly getDocument: TaskStore['getDocument'] = (tenant, kind, id) =>
    this.#documents.get(tenant, kind, id);

  readonly findDocument: TaskStore['findDocument'] = (tenant, name) => this.#documents.find(tenant, name);

  readonly listDocuments: TaskStore['listDocuments'] = (tenant, query) => this.#documents.list(tenant, query);

  readonly countDocuments: TaskStore['countDocuments'] = (tenant, kind) =>
    this.#documents.count(tenant, kind);

  readonly dueDocuments: TaskStore['dueDocuments'] = async (max, after = null) =>
    (await this.#lookout.isAny('documents')) ? this.#documents.due(max, after) : [];

  readonly recall: TaskStore['recall'] = (tenant, idempotency) => this.#documents.recall(tenant, idempotency);

  readonly remember: TaskStore['remember'] = (tenant, idempotency) =>
    this.#documents.remember(tenant, idempotency);

  readonly counts: TaskStore['counts'] = async (tenant, workerId) => {
    const found = (await this.#functions.read('counts', [tenant, workerId], tenant)) as readonly number[];
    return Object.fromEntries(STATUS_CODES.map((status, code) => [status, found[code]])) as StatusCounts;
  };

  readonly countDue: TaskStore['countDue'] = async max =>
    Number(await this.#functions.readNow('count_due', [max], ''));

  readonly dueOf: TaskStore['dueOf'] = async tenant => {
    const found = await this.#functions.readNow('due_of', [tenant], tenant);
    const [count, oldestAt] = found as readonly [number, number | null];
    return { count, oldestAt };
  };

  readonly addUsage: TaskStore['addUsage'] = async (tenant, increments) => {
    if (increments.length === 0) return;
    await this.#functions.write('add_usage', [tenant, incrementsText(increments)], tenant);
  };

  readonly usage: TaskStore['usage'] = async (tenant, { span, workerId, from, intervals }) => {
    const { ms, keepMs } = USAGE_SPANS[span];
    const args = [tenant, workerId, ms, keepMs, from, intervals];
    const rows = await this.#functions.readNow('usage', args, tenant);
    return (rows as (readonly [at: number, figures: readonly number[]])[]).map(([at, figures]) => ({
      at,
      figures: pairsOf(figures),
    }));
  };

  readonly purge: TaskStore['purge'] = (tenant, keep, max) => this.#oldest.purge(tenant, keep, max);

  readonly forgetTenant: TaskStore['forgetTenant'] = async tenant =>
    (await this.#functions.write('forget_tenant', [tenant], tenant)) === true ? NEXT : null;

  readonly copyOut: TaskStore['copyOut'] = (tenant, place) => this.#copies.copyOut(tenant, place);

  readonly recallAll: TaskStore['recallAll'] = place => this.#copies.recallAll(place);

  readonly copyIn: TaskStore['copyIn'] = (tenant, copies) => this.#copies.copyIn(tenant, copies);

  readonly accounts: TaskStore['accounts'] = (after, limit) => this.#documents.accounts(after, limit);

  readonly tenants: TaskStore['tenants'] = async (after, limit) =>
    (await this.#functions.read('tenants', [after ?? '', limit], '')) as string[];
}
