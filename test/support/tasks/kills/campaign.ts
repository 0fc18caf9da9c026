import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Schedule } from '../../../../src/tasks/model/documents.ts';
import { type HistoryEntry, isFinal, type Task } from '../../../../src/tasks/model/task.ts';
import type { StoredDocument } from '../../../../src/tasks/store/documents.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { violationsOf } from '../../../exam/task-store/invariants.ts';
import { snapshotOf, type TenantSnapshot } from '../../../exam/task-store/snapshot.ts';
import { SeededRandom } from '../../seeded-random.ts';
import { TaskCaller } from '../served-tasks.ts';
import { callbackFaults } from './callback-faults.ts';
import { DeletedTenants, OPERATOR_TOKEN } from './deleted-tenants.ts';
import { Ledger } from './ledger.ts';
import { Load, WORKERS } from './load.ts';
import { Nodes } from './nodes.ts';
import { RandomSink } from './sink.ts';

const NODES = 3;
const IN_FLIGHT = 30;
const PER_SECOND = 300;
const CONCURRENCY = { many: 6, paced: 10, pulled: 8 } as const;
const GROUPS = { many: { concurrency: 2, fifo: false }, paced: null, pulled: { concurrency: 1, fifo: true } };
const RATE = { limit: 40, perMs: 1_000, burst: 20 };
const SCHEDULE_MS = 10_000;
const OVERLAPS = ['allow', 'allow', 'skip', 'queue_one', 'cancel_running'] as const;
const LOOK_MS = 200;
/** All work is done when nothing was open in so many looks: ended tasks have callbacks a moment later. */
const QUIET_LOOKS = 10;
/** Is told of the end of every task of the other workers. */
const LISTENER = 'listener';

export interface CampaignOptions {
  /** Of all processes; where tasks are kept is part of it. */
  readonly env: Readonly<Record<string, string>>;
  /** The same store, not started. */
  readonly openStore: () => TaskStore;
  /** What is stored of a tenant that was deleted, beside what shows the deletion. */
  readonly leftOf: (domain: string) => Promise<readonly string[]>;
  readonly seed: number;
  /** How long processes are killed. */
  readonly killMs: number;
  /** How often they are killed at least; by default as often as the time allows. */
  readonly leastKills?: number;
  /** Breaks something else until then, at random. */
  readonly meanwhile?: (endMs: number, random: SeededRandom) => Promise<void>;
  /** All work must be done so long after the last kill. */
  readonly boundMs: number;
}

/** Kills processes at random while callers of all kinds use them, and then looks whether all was kept. */
export async function campaign(t: Test, options: CampaignOptions): Promise<void> {
  const { seed } = options;
  t.comment(`seed ${seed}`);
  const env = {
    ...options.env,
    TASKS_MAX_IN_FLIGHT: String(IN_FLIGHT),
    TASKS_DISPATCH_RATE: String(PER_SECOND),
    ACCOUNTS_OPERATOR_TOKEN: OPERATOR_TOKEN,
  };
  const sink = new RandomSink(new SeededRandom(seed + 1));
  await sink.start();
  t.teardown(() => sink.stop());
  const nodes = new Nodes(env, seed + 2);
  t.teardown(() => nodes.stop());
  await nodes.start(NODES);
  const caller = new TaskCaller(t);
  const ledger = new Ledger();
  await prepare(caller, nodes.pick(new SeededRandom(seed))!, sink.url);

  const load = new Load({ caller, nodes, ledger, seed });
  t.teardown(() => load.stop());
  load.begin();
  const deleted = new DeletedTenants({ t, nodes, ledger, seed: seed + 3, url: sink.url });
  t.teardown(() => deleted.end());
  deleted.begin();
  const endMs = performance.now() + options.killMs;
  const broken = options.meanwhile?.(endMs, new SeededRandom(seed + 4));
  await nodes.killUntil(endMs, options.leastKills ?? 0);
  await broken;
  await nodes.allUp();
  sink.isKind = true;
  await Promise.all([load.end(), deleted.end()]);
  const address = nodes.pick(new SeededRandom(seed))!;
  await pauseSchedules(caller, address);
  const open = await untilDone(caller, address, options.boundMs);
  t.strictSame(open, {}, `all work is done ${options.boundMs} ms after the last kill`);
  t.strictSame(
    await deleted.untilGone(options.boundMs),
    [],
    'all tenants that the operator deleted are gone',
  );
  t.ok(deleted.domains.length > 0, `${deleted.domains.length} tenants were deleted`);
  await load.stop();
  t.strictSame(await nodes.stop(), Array(NODES).fill(0), 'all processes end as they should');

  t.comment(`${nodes.kills} kills; answers: ${JSON.stringify(Object.fromEntries(ledger.answers))}`);
  const store = options.openStore();
  await store.start();
  t.teardown(() => store.stop());
  for (const domain of deleted.domains) {
    t.strictSame(await options.leftOf(domain), [], `nothing is left of ${domain}`);
  }
  await examine(t, { store, domain: caller.domain, ledger, sink });
}

async function prepare(caller: TaskCaller, address: string, url: string): Promise<void> {
  await caller.signUp(address);
  const retry = { max_attempts: 50, base: '200ms', factor: 1, jitter: 0.5 };
  const rate = { limit: RATE.limit, per: '1s', burst: RATE.burst };
  const make = (name: keyof typeof CONCURRENCY, fields: object) =>
    caller.made(address, 'POST', '/workers', {
      name,
      concurrency: CONCURRENCY[name],
      group_concurrency: GROUPS[name]?.concurrency ?? null,
      group_order: GROUPS[name]?.fifo === true ? 'fifo' : 'any',
      on_finish: { worker: LISTENER },
      retry,
      ...fields,
    });
  await caller.made(address, 'POST', '/workers', { name: LISTENER, url, timeout: '1s', retry });
  await make('many', { url, timeout: '1s' });
  await make('paced', { url, timeout: '1s', rate });
  await make('pulled', {});
  for (const [at, overlap] of OVERLAPS.entries()) {
    const every = { every: `${SCHEDULE_MS}ms`, phase: `${at * 2}s`, catch_up: { mode: 'all', window: '1h' } };
    await caller.made(address, 'POST', '/schedules', {
      name: `schedule-${at}`,
      worker: WORKERS[0],
      overlap,
      ...every,
    });
  }
}

async function pauseSchedules(caller: TaskCaller, address: string): Promise<void> {
  for (const at of OVERLAPS.keys()) {
    await caller.made(address, 'PUT', `/schedules/schedule-${at}`, { paused: true });
  }
}

/** @returns how many tasks there still are in each status that is not final; empty when all is done */
async function untilDone(caller: TaskCaller, address: string, boundMs: number): Promise<object> {
  const endMs = performance.now() + boundMs;
  for (let quiet = 0; ; ) {
    const { counts } = await caller.made(address, 'GET', '/tasks/counts');
    const open = Object.entries(counts).filter(
      ([status, count]) => !isFinal(status as Task['status']) && count !== 0,
    );
    quiet = open.length === 0 ? quiet + 1 : 0;
    if (quiet === QUIET_LOOKS || performance.now() > endMs) return Object.fromEntries(open);
    await sleep(LOOK_MS);
  }
}

interface Examined {
  readonly store: TaskStore;
  readonly domain: string;
  readonly ledger: Ledger;
  readonly sink: RandomSink;
}

async function examine(t: Test, { store, domain, ledger, sink }: Examined): Promise<void> {
  const snapshot = (await snapshotOf(store)).get(domain)!;
  const workerIds = new Map(
    snapshot.documents.flatMap(({ kind, id, body }) =>
      kind === 'worker' ? [[(body as { name: string }).name, id] as const] : [],
    ),
  );
  const bounds = {
    inFlight: IN_FLIGHT,
    perSecond: PER_SECOND,
    workers: new Map(
      WORKERS.map(name => [
        workerIds.get(name)!,
        { concurrency: CONCURRENCY[name], rate: name === 'paced' ? RATE : null, groups: GROUPS[name] },
      ]),
    ),
  };
  const created = [...ledger.created].filter(id => !ledger.removing.has(id));
  t.strictSame(
    await violationsOf(store, {
      created: new Map([[domain, created]]),
      bounds: new Map([[domain, bounds]]),
      finished: true,
    }),
    [],
    'all invariants hold',
  );
  t.strictSame(ledger.faults, [], 'no answer contradicts another');
  t.strictSame(
    [...ledger.removed].filter(id => snapshot.bodies.has(id)),
    [],
    'what was removed stays away',
  );
  t.strictSame(contradictions(snapshot, ledger, sink), [], 'histories tell what callers and workers saw');
  t.strictSame(scheduleFaults(snapshot), [], 'schedules fire once for each time');
  t.strictSame(callbackFaults(snapshot, ledger, LISTENER), [], 'each end of a task has one callback');
  t.comment(
    `${snapshot.tasks.length} tasks, ${ledger.created.size} answered, ${ledger.removed.size} removed`,
  );
}

/** What callers and workers have seen, and histories do not tell. */
function contradictions({ tasks, histories }: TenantSnapshot, ledger: Ledger, sink: RandomSink): string[] {
  const faults: string[] = [];
  const entriesOf = (id: string): readonly HistoryEntry[] => histories.get(id) ?? [];
  for (const { id, event, suffix } of ledger.settled) {
    const entries = entriesOf(id);
    // A request to cancel turns all ends but success.
    const isTold = entries.some(
      entry => entry.leaseIdSuffix === suffix && (entry.event === event || entry.event === 'canceled'),
    );
    if (entries.length > 0 && !isTold) faults.push(`${id}: ${event} was accepted and did not happen`);
  }
  for (const id of ledger.canceled) {
    const entries = entriesOf(id);
    const isTold = entries.some(({ event }) => event === 'canceled' || event === 'cancel_requested');
    if (entries.length > 0 && !isTold) faults.push(`${id}: its cancellation was accepted and did not happen`);
  }
  for (const { id, worker } of tasks) {
    const entries = entriesOf(id);
    const count = (name: string) => entries.filter(({ event }) => event === name).length;
    const sent = sink.sent.get(id) ?? 0;
    if (sent > count('started')) faults.push(`${id} was sent ${sent} times, and started less often`);
    if (worker !== WORKERS[2] && count('succeeded') > 0 && !sink.done.has(id)) {
      faults.push(`${id} has succeeded, which its worker has not said`);
    }
  }
  return faults;
}

function scheduleFaults({ tasks, documents }: TenantSnapshot): string[] {
  const faults: string[] = [];
  for (const document of documents) {
    if (document.kind !== 'schedule') continue;
    const { id, body } = document as StoredDocument<'schedule'>;
    const own = tasks.filter(({ scheduleId }) => scheduleId === id);
    faults.push(...timesOf(body, own).map(text => `${body.name}: ${text}`));
  }
  return faults;
}

function timesOf({ overlap, phaseMs, fired }: Schedule, tasks: readonly Task[]): string[] {
  const times = tasks.map(({ scheduledFor }) => Number(scheduledFor)).sort((a, b) => a - b);
  const faults: string[] = [];
  if (fired !== tasks.length) faults.push(`it has fired ${fired} times, and there are ${tasks.length} tasks`);
  if (times.some(time => time % SCHEDULE_MS !== phaseMs)) faults.push(`its times are ${times.join()}`);
  const isWhole = times.every((time, at) => at === 0 || time === times[at - 1] + SCHEDULE_MS);
  if (overlap === 'allow' && !isWhole) faults.push(`a time is missing: ${times.join()}`);
  return faults;
}
