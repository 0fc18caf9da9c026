import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../seeded-random.ts';
import type { Teardown } from '../../temp-directory.ts';
import { type TaskAnswer, TaskCaller, type TaskRequest } from '../served-tasks.ts';
import type { Ledger } from './ledger.ts';
import type { Nodes } from './nodes.ts';

/** The token of the operator, for the processes as well. */
export const OPERATOR_TOKEN = 'the-token-of-the-operator';

/** Before an answer is asked for again. */
const AGAIN_MS = 20;
const LOOK_MS = 200;
/** Tenants are made so long after one another, at most. */
const PAUSE_MS = 400;

export interface DeletedTenantsParts {
  readonly t: Teardown;
  readonly nodes: Nodes;
  readonly ledger: Ledger;
  readonly seed: number;
  /** Of a push worker. */
  readonly url: string;
}

/** Tenants that come, have tasks, and are deleted by the operator while their tasks run and more of them are made. */
export class DeletedTenants {
  /** Those whose deletion was answered with success. */
  readonly domains: string[] = [];
  readonly #parts: DeletedTenantsParts;
  readonly #random: SeededRandom;
  readonly #operator: TaskCaller;
  #going = true;
  #run: Promise<void> | null = null;

  constructor(parts: DeletedTenantsParts) {
    this.#parts = parts;
    this.#random = new SeededRandom(parts.seed);
    this.#operator = new TaskCaller(parts.t, 'operator');
  }

  begin(): void {
    this.#run = this.#deleteOneAfterTheOther();
  }

  /** No new tenants. Ends when the last one is being deleted. */
  async end(): Promise<void> {
    this.#going = false;
    await this.#run;
  }

  /** @returns the tenants that are not gone after that time */
  async untilGone(boundMs: number): Promise<string[]> {
    const endMs = performance.now() + boundMs;
    for (;;) {
      const answers = await Promise.all(this.domains.map(domain => this.#operate('GET', domain)));
      const left = this.domains.filter((_, at) => answers[at].json.status !== 'deleted');
      if (left.length === 0 || performance.now() > endMs) return left;
      await sleep(LOOK_MS);
    }
  }

  async #deleteOneAfterTheOther(): Promise<void> {
    for (let n = 0; this.#going; n++) {
      const domain = `gone-${n}`;
      const caller = new TaskCaller(this.#parts.t, domain);
      // Where the answer is lost there may be an account that nobody has a token of: it is deleted all the same.
      const isKnown = await this.#tried(address => caller.signUp(address));
      const busy = isKnown ? this.#use(caller) : null;
      await sleep(this.#random.below(PAUSE_MS));
      const { status, json } = await this.#operate('DELETE', domain);
      this.#parts.ledger.count(`delete tenant ${status}`);
      if (status === 202) this.domains.push(domain);
      else if (status !== 404) this.#parts.ledger.faults.push(`DELETE ${domain}: ${JSON.stringify(json)}`);
      await busy;
    }
  }

  /** Makes workers and tasks until the account is gone for its callers. */
  async #use(caller: TaskCaller): Promise<void> {
    const { url } = this.#parts;
    const make = (path: string, body: object, idempotencyKey: string) =>
      this.#asked(caller, { method: 'POST', path, body, idempotencyKey });
    await make('/workers', { name: 'pushed', url, timeout: '1s', group_concurrency: 1 }, 'pushed');
    await make('/schedules', { name: 'often', worker: 'pushed', every: '1s' }, 'often');
    for (let n = 0; ; n++) {
      const task = {
        worker: 'pushed',
        group: `group-${n % 3}`,
        key: `key-${n % 5}`,
        delay: `${(n % 4) * 100}ms`,
      };
      const { status } = await make('/tasks', task, `task-${n}`);
      if (status === 404) return;
      await sleep(this.#random.below(20));
    }
  }

  #operate(method: 'GET' | 'DELETE', domain: string): Promise<TaskAnswer> {
    const request = { method, path: `/accounts/${domain}` };
    return this.#untilAnswered(address => this.#operator.operate(address, OPERATOR_TOKEN, request));
  }

  #asked(caller: TaskCaller, request: TaskRequest): Promise<TaskAnswer> {
    return this.#untilAnswered(address => caller.ask(address, request));
  }

  async #untilAnswered(ask: (address: string) => Promise<TaskAnswer>): Promise<TaskAnswer> {
    const { nodes, ledger } = this.#parts;
    for (;;) {
      const address = nodes.pick(this.#random);
      try {
        if (address !== undefined) {
          const answer = await ask(address);
          if (answer.status === 500) ledger.faults.push(JSON.stringify(answer.json));
          if (answer.status < 500 && answer.json?.code !== 'idempotency_in_progress') return answer;
        }
      } catch {
        ledger.count('again without an answer');
      }
      await sleep(AGAIN_MS);
    }
  }

  /** Whether it succeeded, tried once at a process that is up. */
  async #tried(run: (address: string) => Promise<void>): Promise<boolean> {
    for (;;) {
      const address = this.#parts.nodes.pick(this.#random);
      if (address !== undefined) {
        return run(address).then(
          () => true,
          () => false,
        );
      }
      await sleep(AGAIN_MS);
    }
  }
}
