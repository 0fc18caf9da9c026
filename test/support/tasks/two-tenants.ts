import type { Route } from '../../../src/tasks/rest/http/route.ts';
import type { Answered, Asked } from './rest-harness.ts';
import { TaskHarness } from './task-harness.ts';

/** What a tenant has: one of each, by what they are called in paths, in bodies, or in this table. */
export interface Belongings {
  readonly domain: string;
  readonly host: string;
  /** Of the owner. */
  readonly token: string;
  /** Of the pull worker. */
  readonly workerToken: string;
  readonly task: string;
  readonly worker: string;
  readonly workerName: string;
  /** The worker that pulls, and that the secret is of. */
  readonly puller: string;
  readonly secret: string;
  readonly user: string;
  readonly tokenId: string;
  readonly schedule: string;
  readonly scheduleName: string;
  readonly lease: string;
  /** Of each list, by its operation: of the second of its pages with one item. */
  readonly cursors: Readonly<Record<string, string>>;
}

/** Ids and names that are well formed, and nobody's. */
export const NOBODYS = {
  task: `tsk_${'7'.repeat(26)}`,
  worker: `wrk_${'7'.repeat(26)}`,
  workerName: 'no-such-worker',
  puller: `wrk_${'7'.repeat(26)}`,
  secret: `sec_${'7'.repeat(26)}`,
  user: `usr_${'7'.repeat(26)}`,
  tokenId: `tok_${'7'.repeat(26)}`,
  schedule: `sch_${'7'.repeat(26)}`,
  scheduleName: 'no-such-schedule',
  lease: '7'.repeat(32),
} as const;

/** Each named segment of a path, by the segment before it: what it stands for. */
export const SEGMENTS: Readonly<Record<string, keyof typeof NOBODYS>> = {
  'tasks/:id': 'task',
  'workers/:id': 'puller',
  'users/:id': 'user',
  'schedules/:id': 'schedule',
  'leases/:lease_id': 'lease',
  'secrets/:sid': 'secret',
  'tokens/:token_id': 'tokenId',
};

/** The path of a route below `/api`, with what each segment stands for. @throws Error for a segment that is new */
export function pathOf(
  { path }: Pick<Route, 'path'>,
  ids: Readonly<Record<keyof typeof NOBODYS, string>>,
): string {
  return path.replaceAll(/(\w+)\/(:\w+)/g, (segment, before) => {
    const kind = SEGMENTS[segment];
    if (kind === undefined) throw new Error(`${path}: nobody has said what ${segment} is`);
    return `${before}/${ids[kind]}`;
  });
}

/**
 * Two tenants that have the same: `acme` ("mine"), and `zebra-inc` ("theirs"), all of whose texts have the word "zebra"
 * in them.
 */
export class TwoTenants {
  readonly rest: TaskHarness;
  readonly mine: Belongings;
  readonly theirs: Belongings;

  constructor(rest: TaskHarness, mine: Belongings, theirs: Belongings) {
    this.rest = rest;
    this.mine = mine;
    this.theirs = theirs;
  }

  /** @param rest a service without accounts */
  static async open(rest = new TaskHarness()): Promise<TwoTenants> {
    const mine = await furnish(rest, 'acme', 'acme');
    const theirs = await furnish(rest, 'zebra-inc', 'zebra');
    return new TwoTenants(rest, mine, theirs);
  }

  /** As the owner of `acme` at its host, unless said otherwise. */
  ask(method: string, target: string, asked: Asked = {}): Promise<Answered> {
    const { token, host } = this.mine;
    return this.rest.ask(method, `/api${target}`, { token, host, ...asked });
  }

  /** Everything that the other tenant can read, to see that nothing has changed. */
  async stateOfTheirs(): Promise<string> {
    const { token, host } = this.theirs;
    const lists = this.rest.routes.filter(({ method, operation }) => method === 'GET' && operation in LISTS);
    const pages = lists.map(async route => {
      const query = route.operation === 'listTasks' ? '?limit=200&include=payload' : '?limit=200';
      return (await this.rest.ask('GET', `/api${pathOf(route, this.theirs)}${query}`, { token, host })).body;
    });
    return (await Promise.all(pages)).join('\n');
  }
}

/** The routes that are lists: more than one item is there in both tenants. */
export const LISTS: Readonly<Record<string, true>> = {
  listTasks: true,
  readTaskHistory: true,
  listWorkers: true,
  listSecrets: true,
  listSchedules: true,
  listUsers: true,
  listTokens: true,
  listAudit: true,
};

async function furnish(rest: TaskHarness, domain: string, word: string): Promise<Belongings> {
  const { token } = await rest.signUp(domain);
  const host = `${domain}.tasks.test`;
  const made = (target: string, body: unknown) => rest.made(target, body, { token, host });
  const url = `https://${word}.example.com/tasks`;
  const worker = await made('workers', { name: `${word}-mailer`, url, headers: { 'x-who': word } });
  const puller = await made('workers', { name: `${word}-crawler` });
  const secret = await made(`workers/${puller.id}/secrets`, { name: `${word} signs` });
  const workerToken = await made(`workers/${puller.id}/secrets`, { type: 'token', name: word });
  const user = await made('users', { email: `${word}@example.com`, name: word, role: 'member' });
  const tokenId = await made(`users/${user.id}/tokens`, { name: `${word} one` });
  await made(`users/${user.id}/tokens`, { name: `${word} two` });
  const schedule = await made('schedules', { name: `${word}-nightly`, worker: worker.id, every: '1h' });
  await made('schedules', { name: `${word}-hourly`, worker: worker.id, every: '1d', task: { type: word } });
  const content = { type: word, payload: { word }, tags: [word], metadata: { word }, key: word };
  const task = await made('tasks', { worker: worker.name, ...content });
  await rest.at('PUT', `tasks/${task.id}`, { tags: [word, 'changed'] }, { token, host });
  await made('tasks', { worker: puller.name, payload: { word }, type: word });
  const asked = { token: workerToken.value, host };
  const leased = await rest.at('POST', `workers/${puller.id}/leases`, {}, asked);
  const ids = {
    task: task.id,
    worker: worker.id,
    workerName: worker.name,
    puller: puller.id,
    secret: secret.id,
    user: user.id,
    tokenId: tokenId.id,
    schedule: schedule.id,
    scheduleName: schedule.name,
    lease: leased.json.leases[0].lease_id,
  };
  const cursors: Record<string, string> = {};
  for (const route of rest.routes.filter(({ operation }) => operation in LISTS)) {
    const page = await rest.ask('GET', `/api${pathOf(route, ids)}?limit=1`, { token, host });
    cursors[route.operation] = page.json.next_cursor;
  }
  return { domain, host, token, workerToken: workerToken.value, ...ids, cursors };
}
