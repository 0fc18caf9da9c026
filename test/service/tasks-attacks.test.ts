import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import t from 'tap';
import { DecisionWatch } from '../support/decision-watch.ts';
import type { ServiceProcess } from '../support/service.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';

/** Longest wait for a decision on a machine with nothing else to do, in milliseconds. */
const LONGEST_WAIT_MS = 50;
const MIB = 1024 * 1024;
const MAX_LEFT_BYTES = 120 * MIB;

/** V8 collects what an idle thread holds within some ten seconds. */
const GIVEN_BACK_WITHIN_MS = 30_000;

/** The largest batch that is nothing but empty tasks. */
const EMPTY_TASKS = `{"tasks":[${'{},'.repeat(1_900_000)}{}]}`;
/** Nearly as many names, all of them different, as a body may have; they take longest to parse. */
const NAMES = `{"worker":"later","payload":{${Array.from({ length: 260_000 }, (_, i) => `"f${i}":0`).join(',')}}}`;
const LARGE = `{"worker":"later","payload":"${'x'.repeat(6 * MIB - 100)}"}`;
const TASKS_TO_LIST = `{"tasks":[${Array(20)
  .fill(`{"worker":"later","payload":"${'x'.repeat(250_000)}"}`)
  .join(',')}]}`;

interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls of one tenant, many at once, whose answers are read and dropped. */
class Attacker {
  readonly #port: number;
  readonly #host: string;
  readonly #token: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(service: ServiceProcess, tenant: Tenant) {
    this.#port = Number(service.http.split(':')[1]);
    this.#host = new URL(tenant.account.api_url).hostname;
    this.#token = tenant.token;
  }

  /** The status; 0 where the connection was closed first. */
  call({ method = 'POST', path, body = '', headers = {} }: Asked): Promise<number> {
    return new Promise(resolve => {
      const sent = request(
        {
          port: this.#port,
          agent: this.#agent,
          method,
          path: `/api/v1/${path}`,
          headers: {
            host: this.#host,
            authorization: `Bearer ${this.#token}`,
            ...(method === 'POST' && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            }),
            ...headers,
          },
        },
        answer => {
          answer.resume();
          answer.on('close', () => resolve(answer.statusCode ?? 0));
        },
      );
      sent.on('error', () => resolve(0));
      sent.end(body);
    });
  }

  /** So many callers, each of which asks again and again. @returns how often each status was answered */
  async repeat(asked: Asked, callers: number, times: number): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {};
    const caller = async () => {
      for (let n = 0; n < times; n++) {
        const status = await this.call(asked);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return statuses;
  }

  close(): void {
    this.#agent.destroy();
  }
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1024;
}

const service = await startTasksService(t);
const tenant = await newTenant(service);
const attacker = new Attacker(service, tenant);
t.teardown(() => attacker.close());
const watch = await DecisionWatch.start({ address: service.grpc, pid: service.pid });
t.teardown(() => watch.stop());
await tenant.make('workers', { name: 'later', mode: 'pull' });
const residentBefore = residentBytes(service.pid);
await attacker.repeat({ path: 'tasks/batch', body: TASKS_TO_LIST }, 1, 2);

interface Attack extends Asked {
  readonly callers: number;
  /** Calls of each caller. */
  readonly times: number;
  /** What each is answered. */
  readonly statuses: readonly number[];
}

const LIST: Asked = { method: 'GET', path: 'tasks?include=payload&limit=200' };
const ATTACKS: Readonly<Record<string, Attack>> = {
  'a batch of 1.9 million empty tasks': {
    ...{ path: 'tasks/batch', body: EMPTY_TASKS },
    ...{ callers: 1, times: 3, statuses: [413] },
  },
  'a list of large payloads': { ...LIST, callers: 1, times: 6, statuses: [200] },
  'two hundred callers of such lists at once': { ...LIST, callers: 200, times: 1, statuses: [200] },
  'six callers of such lists at once': { ...LIST, callers: 6, times: 8, statuses: [200] },
  'large bodies without a token': {
    ...{ path: 'tasks', body: LARGE, headers: { authorization: '' } },
    ...{ callers: 4, times: 2, statuses: [401] },
  },
  'large bodies with a wrong token': {
    ...{ path: 'tasks', body: LARGE, headers: { authorization: `Bearer ${tenant.token.slice(0, -1)}` } },
    ...{ callers: 4, times: 2, statuses: [401] },
  },
  'as many names as a body may have': {
    ...{ path: 'tasks', body: NAMES },
    ...{ callers: 1, times: 2, statuses: [413] },
  },
  'large bodies with a key': {
    ...{ path: 'tasks', body: LARGE, headers: { 'idempotency-key': 'k' } },
    ...{ callers: 1, times: 3, statuses: [413] },
  },
};

for (const [name, { callers, times, statuses, ...asked }] of Object.entries(ATTACKS)) {
  t.test(`decisions do not wait for ${name}`, async t => {
    let answered: Record<number, number> = {};
    const {
      asked: decisions,
      failed,
      longestOwn,
    } = await watch.during(async () => {
      answered = await attacker.repeat(asked, callers, times);
    });
    const strange = Object.keys(answered).filter(status => !statuses.includes(Number(status)));
    t.same(strange, [], JSON.stringify(answered));
    t.equal(failed, 0, `each of ${decisions} was decided`);
    t.ok(longestOwn <= LONGEST_WAIT_MS, `the longest took ${longestOwn} ms`);
  });
}

// This takes some seconds: V8 gives memory back when it has had little to do for so long.
t.test('the memory that all of this took is given back', async t => {
  const most = residentBefore + MAX_LEFT_BYTES;
  const giveUpAt = performance.now() + GIVEN_BACK_WITHIN_MS;
  let resident = residentBytes(service.pid);
  while (resident > most && performance.now() < giveUpAt) {
    await new Promise(resolve => setTimeout(resolve, 100));
    resident = residentBytes(service.pid);
  }
  const figures = [residentBefore, resident].map(bytes => `${Math.round(bytes / MIB)} MiB`);
  t.ok(resident <= most, `${figures[0]} before, ${figures[1]} now`);
});
