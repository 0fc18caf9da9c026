import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Deed } from './plan.ts';
import { changeRights, newPerson, personAsks } from './random-people.ts';
import { changeSecret } from './random-secrets.ts';
import { randomSequence } from './random-sequences.ts';
import {
  LARGE_BYTES,
  newLabel,
  type RandomTenant,
  type RandomWorker,
  randomRetry,
} from './random-tenants.ts';
import type { Ask, Step } from './step.ts';

type RandomAsk = (random: SeededRandom, tenant: RandomTenant, at: number) => Step[];

const COMMANDS = ['cancel', 'cancel', 'retry', 'run', 'pause', 'resume'];
const BULK = ['retry', 'cancel', 'pause', 'resume', 'run', 'delete'];
const KEYS = 3;
const GROUPS = 3;
/** Times of schedules: many a minute, and what comes in the hour of a change of clocks. */
const CRONS = [
  '* * * * *',
  '*/2 * * * *',
  '30 2 * * *',
  '15,45 2 * * *',
  '*/15 * * * *',
  '0 3 * * *',
  '59 1 * * *',
  '*/10 1-3 * * *',
  '30 1 * * *',
];
const ZONES = ['Europe/Berlin', 'Europe/Berlin', 'America/New_York', 'UTC', 'Australia/Lord_Howe'];
const OVERLAPS = ['skip', 'allow', 'queue_one', 'cancel_running'];

function ask(
  at: number,
  tenant: RandomTenant,
  method: Ask['method'],
  path: string,
  rest: Partial<Ask> = {},
): Step {
  return { at, do: 'ask', tenant: tenant.name, method, path, ...rest } as Step;
}

function randomDeeds(random: SeededRandom, mode: 'push' | 'pull'): Deed[] {
  return Array.from({ length: random.below(4) }, (): Deed => {
    const ms = random.pick([5, 50, 400, 1_200, 3_000]);
    switch (random.below(mode === 'push' ? 12 : 14)) {
      case 0:
        return 'fatal';
      case 1:
        return `wait:${1 + random.below(4)}`;
      case 2:
      case 3:
      case 4:
        return `fail:${ms}`;
      case 5:
        return random.below(3) === 0 ? 'hang' : `ok:${ms}`;
      case 6:
        return mode === 'push' ? 'refuse' : 'hang';
      case 7:
        return mode === 'push' ? (random.below(4) === 0 ? 'gone' : 'refuse') : 'late';
      default:
        return `ok:${ms}`;
    }
  });
}

/** Fields of a task that its worker accepts. */
function taskFields(
  random: SeededRandom,
  { name, mode, hasGroups }: RandomWorker,
  label: string,
): Record<string, unknown> {
  const isKeyed = random.below(5) === 0;
  return {
    worker: name,
    payload: {
      label,
      deeds: randomDeeds(random, mode),
      ...(random.below(12) === 0 && { filling: 'x'.repeat(LARGE_BYTES) }),
    },
    ...(random.below(3) === 0 && { delay: `${random.below(8_000)}ms` }),
    ...(isKeyed && { key: `key-${random.below(KEYS)}` }),
    ...(isKeyed && { on_conflict: random.pick(['return', 'reject', 'replace', 'replace_keep_time']) }),
    ...(isKeyed && random.below(3) === 0 && { key_ttl: `${1 + random.below(10)}s` }),
    ...((hasGroups || random.below(8) === 0) && { group: `group-${random.below(GROUPS)}` }),
    ...(random.below(5) === 0 && { priority: random.pick(['critical', 'high', 'low', 'bulk']) }),
    ...(random.below(8) === 0 && { retry: randomRetry(random) }),
    ...(random.below(8) === 0 && { tags: ['red'] }),
    ...(random.below(8) === 0 && { expires_in: `${8_001 + random.below(8_000)}ms` }),
  };
}

const createTask: RandomAsk = (random, tenant, at) => {
  const label = newLabel(tenant);
  const body = taskFields(random, random.pick(tenant.workers), label);
  return [ask(at, tenant, 'POST', 'tasks', { body, labels: [label] })];
};

const createBatch: RandomAsk = (random, tenant, at) => {
  const labels = Array.from({ length: 2 + random.below(8) }, () => newLabel(tenant));
  const tasks = labels.map(label => taskFields(random, random.pick(tenant.workers), label));
  return [ask(at, tenant, 'POST', 'tasks/batch', { body: { tasks, atomic: random.below(4) === 0 }, labels })];
};

/** A task that is among the newest, more often than not. */
function pickLabel(random: SeededRandom, { labels }: RandomTenant): string | null {
  if (labels.length === 0) return null;
  const from = random.below(3) === 0 ? labels : labels.slice(-5);
  return random.pick(from);
}

const command: RandomAsk = (random, tenant, at) => {
  const label = pickLabel(random, tenant);
  return label === null ? [] : [ask(at, tenant, 'POST', `tasks/{${label}}/${random.pick(COMMANDS)}`)];
};

const patchTask: RandomAsk = (random, tenant, at) => {
  const label = pickLabel(random, tenant);
  const body = random.pick([
    { tags: ['blue'] },
    { tags: ['blue', 'green'] },
    { priority: 'high' },
    { retry: { max_attempts: 3 } },
    { status: 'paused' },
    { status: 'scheduled' },
  ]);
  return label === null ? [] : [ask(at, tenant, 'PATCH', `tasks/{${label}}`, { body })];
};

const deleteTask: RandomAsk = (random, tenant, at) => {
  const label = pickLabel(random, tenant);
  const force = random.below(2) === 0 ? '?force=true' : '';
  return label === null ? [] : [ask(at, tenant, 'DELETE', `tasks/{${label}}${force}`)];
};

const bulk: RandomAsk = (random, tenant, at) => {
  const filter = random.pick([
    { worker: random.pick(tenant.workers).name },
    { tag: 'red' },
    { status: 'retry' },
    { key: 'key-1' },
  ]);
  const status = filter.status !== undefined && random.below(2) === 0;
  const action = status ? 'cancel' : random.pick(BULK);
  return [ask(at, tenant, 'POST', 'tasks/actions', { body: { action, filter } })];
};

const schedule: RandomAsk = (random, tenant, at) => {
  const name = `schedule-${tenant.schedules.length + 1}`;
  const worker = random.pick(tenant.workers);
  tenant.schedules.push(name);
  const timing =
    random.below(3) === 0
      ? { every: `${10 + random.below(30)}s`, phase: `${random.below(10)}s` }
      : { cron: random.pick(CRONS), timezone: random.pick(ZONES) };
  const body = {
    name,
    worker: worker.name,
    ...timing,
    overlap: random.pick(OVERLAPS),
    task: {
      payload: { deeds: randomDeeds(random, worker.mode) },
      ...(random.below(4) === 0 && { group: 'group-1' }),
    },
    ...(random.below(2) === 0 && {
      catch_up: { mode: random.pick(['none', 'latest', 'all']), window: random.pick(['10s', '10m', '4h']) },
    }),
    ...('cron' in timing &&
      random.below(3) === 0 && {
        dst: { gap: random.pick(['run_after', 'skip']), overlap: random.pick(['once', 'twice']) },
      }),
    ...(random.below(5) === 0 && { jitter: `${1 + random.below(20)}s` }),
    ...(random.below(6) === 0 && { max_runs: 1 + random.below(4) }),
  };
  return [ask(at, tenant, 'POST', 'schedules', { body })];
};

const changeSchedule: RandomAsk = (random, tenant, at) => {
  if (tenant.schedules.length === 0) return schedule(random, tenant, at);
  const path = `schedules/${random.pick(tenant.schedules)}`;
  switch (random.below(5)) {
    case 0:
      return [ask(at, tenant, 'POST', `${path}/trigger`)];
    case 1:
      return [ask(at, tenant, 'DELETE', path)];
    case 2:
      return [ask(at, tenant, 'PATCH', path, { body: { timezone: random.pick(ZONES) } })];
    default:
      return [
        ask(at, tenant, 'PATCH', path, { body: { paused: true } }),
        ask(at + random.below(10_000), tenant, 'PATCH', path, { body: { paused: false } }),
      ];
  }
};

const changeWorker: RandomAsk = (random, tenant, at) => {
  const path = `workers/${random.pick(tenant.workers).name}`;
  switch (random.below(8)) {
    case 0:
      return [ask(at, tenant, 'DELETE', `${path}?cancel_tasks=true`)];
    case 1:
    case 2:
      return [ask(at, tenant, 'PATCH', path, { body: { concurrency: 1 + random.below(6) } })];
    case 3:
      return [ask(at, tenant, 'PATCH', path, { body: { retry: randomRetry(random) } })];
    default:
      return [
        ask(at, tenant, 'PATCH', path, { body: { paused: true } }),
        ask(at + random.below(10_000), tenant, 'PATCH', path, { body: { paused: false } }),
      ];
  }
};

const suspend: RandomAsk = (random, tenant, at) => {
  const call = { do: 'operator', tenant: tenant.name } as const;
  if (random.below(8) === 0) return [{ at, ...call, method: 'DELETE' }];
  return [
    { at, ...call, method: 'PATCH', body: { status: 'suspended' } },
    { at: at + random.below(20_000), ...call, method: 'PATCH', body: { status: 'active' } },
  ];
};

/** A call is made again, although it was answered: perhaps after the process that had answered it has ended. */
const again: RandomAsk = (random, tenant, at) => {
  const labels = [...tenant.labels.slice(-20), ...tenant.secrets.map(({ label }) => label)];
  return labels.length === 0 ? [] : [{ at, do: 'again', tenant: tenant.name, label: random.pick(labels) }];
};

const readPages: RandomAsk = (random, tenant, at) => {
  const query = random.pick([
    'limit=2',
    'limit=3&order=asc',
    'limit=2&status=scheduled',
    'limit=2&status=succeeded,failed',
    'limit=3&status=retry,running&order=asc',
  ]);
  return [{ at, do: 'pages', tenant: tenant.name, query }];
};

const READS = [
  'counts',
  '?limit=5',
  '?status=scheduled,retry&limit=20',
  '?by=run_at&order=asc&limit=5&worker=',
];

/** Answers of these are not compared: they must not be faults. */
const read: RandomAsk = (random, tenant, at) => {
  const label = pickLabel(random, tenant);
  const worker = random.pick(tenant.workers).name;
  const list = random.pick(READS);
  const paths = [
    `tasks${list.startsWith('?') ? '' : '/'}${list}${list.endsWith('=') ? worker : ''}`,
    `workers/${worker}`,
    `workers/${worker}/secrets`,
    'usage?range=1h',
    'limits',
    ...(label === null ? [] : [`tasks/{${label}}`, `tasks/{${label}}/history`]),
  ];
  return [ask(at, tenant, 'GET', random.pick(paths))];
};

/** What somebody does to a tenant, and how often. */
const WEIGHTS: readonly (readonly [weight: number, RandomAsk])[] = [
  [30, createTask],
  [6, createBatch],
  [16, command],
  [4, patchTask],
  [4, deleteTask],
  [4, bulk],
  [3, schedule],
  [3, changeSchedule],
  [4, changeWorker],
  [2, changeSecret],
  [1, newPerson],
  [3, personAsks],
  [2, changeRights],
  [9, randomSequence],
  [3, again],
  [1, suspend],
  [4, readPages],
  [5, read],
];
const ALL = WEIGHTS.flatMap(([weight, step]) => Array<RandomAsk>(weight).fill(step));

/** A schedule of every minute, or of an hour in which clocks are changed. */
export const randomSchedule = schedule;

export function randomAsk(random: SeededRandom, tenant: RandomTenant, at: number): Step[] {
  return random.pick(ALL)(random, tenant, at);
}
