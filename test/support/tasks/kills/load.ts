import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../seeded-random.ts';
import type { TaskAnswer, TaskCaller, TaskRequest } from '../served-tasks.ts';
import type { Ledger } from './ledger.ts';
import type { Nodes } from './nodes.ts';

/** Workers of the tenant; the first two are pushed to. */
export const WORKERS = ['many', 'paced', 'pulled'] as const;
/** Task keys that callers fight for. */
const KEYS = 6;
/** Groups of each worker. */
const GROUPS = 8;
/** Before an answer is asked for again. */
const AGAIN_MS = 20;

export interface LoadParts {
  readonly caller: TaskCaller;
  readonly nodes: Nodes;
  readonly ledger: Ledger;
  readonly seed: number;
}

/** Callers of all kinds, each with a random sequence of its own, who ask again until they are answered. */
export class Load {
  readonly #parts: LoadParts;
  #creating = true;
  #pulling = true;
  /** Pull workers complete all that they lease. */
  #kind = false;
  readonly #makers: Promise<void>[] = [];
  readonly #pullers: Promise<void>[] = [];

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  begin(): void {
    for (let i = 0; i < 4; i++) this.#makers.push(this.#create(i, this.#random(i)));
    this.#makers.push(this.#disturb(this.#random(20)));
    for (let i = 0; i < 3; i++) this.#pullers.push(this.#pull(this.#random(40 + i)));
  }

  /** No new tasks, and pull workers do what they should. */
  async end(): Promise<void> {
    this.#creating = false;
    this.#kind = true;
    await Promise.all(this.#makers);
  }

  async stop(): Promise<void> {
    this.#creating = false;
    this.#pulling = false;
    await Promise.all([...this.#makers, ...this.#pullers]);
  }

  #random(number: number): SeededRandom {
    return new SeededRandom(this.#parts.seed * 1_000 + number);
  }

  /** Asks a process after the other until one answers, and not with a fault of its own. */
  async #ask(random: SeededRandom, request: TaskRequest): Promise<TaskAnswer> {
    const { caller, nodes, ledger } = this.#parts;
    for (;;) {
      const address = nodes.pick(random);
      try {
        if (address !== undefined) {
          const answer = await caller.ask(address, request);
          if (answer.status === 500) ledger.faults.push(`${request.path}: ${JSON.stringify(answer.json)}`);
          if (answer.status < 500 && answer.json?.code !== 'idempotency_in_progress') return answer;
          ledger.count(`again after ${answer.status}`);
        }
      } catch {
        ledger.count('again without an answer');
      }
      await sleep(AGAIN_MS);
    }
  }

  async #create(number: number, random: SeededRandom): Promise<void> {
    const sent: TaskRequest[] = [];
    for (let n = 0; this.#creating; n++) {
      const isBatch = random.below(8) === 0;
      const tasks = Array.from({ length: isBatch ? 5 : 1 }, () => newTask(random));
      const request: TaskRequest = {
        method: 'POST',
        path: isBatch ? '/tasks/batch' : '/tasks',
        body: isBatch ? { tasks } : tasks[0],
        idempotencyKey: `maker-${number}-${n}`,
      };
      sent.push(request);
      await this.#created(random, request);
      if (random.below(5) === 0) await this.#created(random, random.pick(sent));
      await sleep(random.below(30));
    }
  }

  async #created(random: SeededRandom, request: TaskRequest): Promise<void> {
    const { ledger } = this.#parts;
    const { status, json } = await this.#ask(random, request);
    ledger.count(`created ${status}`);
    if (status === 409) return;
    if (status !== 200 && status !== 201) {
      ledger.faults.push(`a creation was answered with ${status}: ${JSON.stringify(json)}`);
      return;
    }
    const found: readonly { readonly status: number; readonly task?: { readonly id: string } }[] =
      json.results ?? [{ status, task: json }];
    const ids = found.flatMap(({ task }) => task?.id ?? []);
    ledger.answered(String(request.idempotencyKey), ids);
  }

  /** Cancels, removes and runs again. */
  async #disturb(random: SeededRandom): Promise<void> {
    const { ledger } = this.#parts;
    while (this.#creating) {
      await sleep(20 + random.below(40));
      const known = [...ledger.created].filter(id => !ledger.removing.has(id));
      if (known.length === 0) continue;
      const id = random.pick(known);
      const what = random.below(10);
      if (what < 5) await this.#command(random, id, 'cancel');
      else if (what < 7) await this.#command(random, id, 'run');
      else if (what < 9) await this.#command(random, id, 'retry');
      else await this.#remove(random, id);
    }
  }

  async #command(random: SeededRandom, id: string, name: string): Promise<void> {
    const { ledger } = this.#parts;
    const { status } = await this.#ask(random, { method: 'POST', path: `/tasks/${id}/${name}` });
    ledger.count(`${name} ${status}`);
    if (name === 'cancel' && status === 200) ledger.canceled.add(id);
  }

  async #remove(random: SeededRandom, id: string): Promise<void> {
    const { ledger } = this.#parts;
    ledger.removing.add(id);
    const { status } = await this.#ask(random, { method: 'DELETE', path: `/tasks/${id}` });
    ledger.count(`remove ${status}`);
    // One that is not there was removed by the same request before, whose answer was lost.
    if (status === 204 || status === 404) ledger.removed.add(id);
    else ledger.removing.delete(id);
  }

  async #pull(random: SeededRandom): Promise<void> {
    while (this.#pulling) {
      const body = { max: 1 + random.below(4), wait: '500ms', lease: '5s' };
      // An answer that is lost leaves leases that nobody ends.
      const { status, json } = await this.#ask(random, {
        method: 'POST',
        path: `/workers/${WORKERS[2]}/leases`,
        body,
      });
      if (status !== 200) this.#parts.ledger.faults.push(`leases: ${status} ${JSON.stringify(json)}`);
      for (const lease of json.leases ?? []) await this.#work(random, lease);
    }
  }

  async #work(
    random: SeededRandom,
    { lease_id: lease, task }: { readonly lease_id: string; readonly task: { readonly id: string } },
  ): Promise<void> {
    await sleep(random.below(20));
    const draw = this.#kind ? 99 : random.below(100);
    if (draw < 8) return;
    if (draw < 20) await this.#ask(random, post(`/leases/${lease}/heartbeat`, {}));
    if (draw < 30) await this.#settle(random, lease, task.id, 'fail', FAILURE, 'attempt_failed');
    else if (draw < 36) await this.#settle(random, lease, task.id, 'release', {}, 'released');
    else await this.#settle(random, lease, task.id, 'complete', {}, 'succeeded');
  }

  async #settle(
    random: SeededRandom,
    lease: string,
    id: string,
    name: string,
    body: object,
    event: string,
  ): Promise<void> {
    const { ledger } = this.#parts;
    const { status } = await this.#ask(random, post(`/leases/${lease}/${name}`, body));
    ledger.count(`${name} ${status}`);
    if (status === 200) ledger.settled.push({ id, event, suffix: lease.slice(-4) });
    else if (status !== 409) ledger.faults.push(`${name}: ${status}`);
  }
}

const FAILURE = { error: { code: 'broken', message: 'at random' } };

function post(path: string, body: object): TaskRequest {
  return { method: 'POST', path, body };
}

function newTask(random: SeededRandom): object {
  const key = random.below(6) === 0 ? { key: `key-${random.below(KEYS)}` } : {};
  return {
    worker: random.pick(WORKERS),
    payload: { number: random.below(1_000_000) },
    ...(random.below(3) === 0 && { delay: `${random.below(1_500)}ms` }),
    ...key,
    ...(random.below(2) === 0 && { group: `group-${random.below(GROUPS)}` }),
    ...('key' in key && { on_conflict: random.pick(['return', 'reject', 'replace']) }),
    ...(random.below(5) === 0 && { priority: random.pick(['critical', 'low', 'bulk']) }),
  };
}
