import type { Judge } from '../checks/judge.ts';
import { OPERATOR_TOKEN } from './simulated-process.ts';
import type { World } from './world.ts';

const LOOK_MS = 1_000;
/** All work has to be done so long after the last trouble. */
const LONGEST_MS = 20 * 60_000;
/** How long nothing may have been open: callbacks are created a moment after the ends of tasks. */
const QUIET_LOOKS = 3;
const OPEN_EVERY_LOOKS = 10;

/** Ends a history: no more troubles, nothing is paused, and all work gets done. Then all processes are stopped. */
export class Ending {
  readonly #world: World;
  readonly #judge: Judge;
  readonly #pulled = new Set<string>();
  #salt = 900_000_000;

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  async run(): Promise<void> {
    const { time } = this.#world;
    const { promise, resolve } = Promise.withResolvers<void>();
    let isOver = false;
    void this.#end().then(() => {
      isOver = true;
      resolve();
    });
    await time.runUntil(Number.MAX_SAFE_INTEGER, () => isOver);
    await promise;
  }

  async #end(): Promise<void> {
    const world = this.#world;
    world.becomeKind();
    await this.#done();
    for (const puller of world.pullWorkers) puller.stop();
    await Promise.all(world.processes.map(process => process.stop()));
  }

  /** Nothing is suspended or paused, except for tasks and schedules, and every pull worker has somebody who works. */
  async #open(): Promise<void> {
    const { documents } = this.#judge;
    for (const { tenant } of documents.all('account')) {
      const account = documents.account(tenant);
      if (account === null || account.deletion !== undefined) continue;
      if (account.status === 'suspended') {
        await this.#ask('accounts', 'PATCH', `/accounts/${tenant}`, OPERATOR_TOKEN, { status: 'active' });
      }
      await this.#openTenant(tenant);
    }
  }

  async #openTenant(tenant: string): Promise<void> {
    const { documents } = this.#judge;
    const { ledger } = this.#world;
    if (!ledger.tokens.has(tenant)) {
      const answer = await this.#ask('accounts', 'POST', `/accounts/${tenant}/owner-token`, OPERATOR_TOKEN);
      if (typeof answer?.json?.token === 'string') ledger.tokens.set(tenant, answer.json.token);
    }
    const token = ledger.tokens.get(tenant) ?? '';
    for (const { id } of documents.all('schedule').filter(each => each.tenant === tenant)) {
      if (documents.now(tenant, 'schedule', id)?.paused !== false) continue;
      await this.#ask(tenant, 'PATCH', `/api/v1/schedules/${id}`, token, { paused: true });
    }
    for (const { id } of documents.all('worker').filter(each => each.tenant === tenant)) {
      const worker = documents.now(tenant, 'worker', id);
      if (worker === null) continue;
      if (worker.paused) await this.#ask(tenant, 'PATCH', `/api/v1/workers/${id}`, token, { paused: false });
      if (worker.mode === 'pull' && !this.#pulled.has(id)) {
        this.#pulled.add(id);
        this.#world.pull(tenant, id, 8);
      }
    }
  }

  async #done(): Promise<void> {
    const { time } = this.#world;
    const endMs = time.nowMs() + LONGEST_MS;
    for (let quiet = 0, look = 0; quiet < QUIET_LOOKS && time.nowMs() < endMs; look++) {
      // Late calls may have paused something again, and a worker is paused if its receiver says that it is gone.
      if (look % OPEN_EVERY_LOOKS === 0) await this.#open();
      await time.passed(LOOK_MS);
      const isDone = this.#world.isIdle && this.#judge.isAllDone && !this.#isDeleting();
      quiet = isDone ? quiet + 1 : 0;
    }
  }

  #isDeleting(): boolean {
    const { documents } = this.#judge;
    return documents.all('account').some(({ tenant }) => documents.account(tenant)?.status === 'deleting');
  }

  #ask(host: string, method: string, target: string, token: string, body?: unknown) {
    const request = { method, host: `${host}.tasks.test`, target, token, body };
    return this.#world.callers.ask(request, this.#salt++);
  }
}
