import { deedOf } from '../steps/plan.ts';
import type { CallAnswer, Callers } from './callers.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** What a pull worker has reported, and what it was answered. */
export interface Report {
  readonly tenant: string;
  readonly taskId: string;
  readonly leaseId: string;
  readonly kind: 'complete' | 'fail' | 'release';
  /** 0 without an answer. */
  readonly status: number;
}

interface PullParts {
  readonly callers: Callers;
  readonly time: SimulatedTime;
  readonly tenant: string;
  readonly worker: string;
  readonly max: number;
  readonly token: () => string | null;
  readonly salt: number;
  /** Who it is; undefined for the owner. */
  readonly person: string | undefined;
}

/** That a pull worker got tasks. */
export interface Taking {
  readonly tenant: string;
  readonly person: string | undefined;
  readonly answeredMs: number;
}

const WAIT_MS = 3_000;
/** People wait for longer: they may lose their rights meanwhile. */
const PERSON_WAIT_MS = 15_000;
const REPORT_TRIES = 12;
const IDLE_MS = 1_000;

/** Somebody who takes tasks of a pull worker, and does with each what its payload says. */
export class PullWorker {
  readonly #parts: PullParts;
  readonly reports: Report[] = [];
  readonly takings: Taking[] = [];
  /** Leases that it has reported as completed, or is about to. */
  readonly completed = new Set<string>();
  #salt: number;
  #stopped = false;

  constructor(parts: PullParts) {
    this.#parts = parts;
    this.#salt = parts.salt * 1_000_003;
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(): Promise<void> {
    const { time, tenant, worker, max } = this.#parts;
    while (!this.#stopped) {
      const answer = await this.#ask(
        `workers/${worker}/leases`,
        { max, wait: `${this.#waitMs}ms`, lease: '5s' },
        1,
      );
      if (this.#parts.person !== undefined && (answer?.status === 401 || answer?.status === 403)) return;
      if (answer?.status !== 200) {
        await time.passed(IDLE_MS);
        continue;
      }
      const { person } = this.#parts;
      if (answer.json.leases.length > 0) this.takings.push({ tenant, person, answeredMs: time.nowMs() });
      for (const lease of answer.json.leases) void this.#work(tenant, lease);
      // Other workers ask as well; who has asked just now is not the first again.
      await time.passed(1);
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: a lease as the interface shows it
  async #work(tenant: string, lease: any): Promise<void> {
    const { time } = this.#parts;
    const { lease_id: leaseId, task } = lease;
    const { name, ms } = deedOf(JSON.stringify(task.payload), task.attempt + task.deferrals);
    const report = async (kind: Report['kind'], body: object) => {
      if (kind === 'complete') this.completed.add(leaseId);
      const status = (await this.#report(leaseId, kind, body)) ?? 0;
      this.reports.push({ tenant, taskId: task.id, leaseId, kind, status });
    };
    if (name === 'hang') return;
    if (name === 'late') {
      await time.passed(12_000);
      return report('complete', { result: { of: task.id, attempt: task.attempt } });
    }
    if (!(await this.#busy(leaseId, ms))) return report('release', {});
    if (name === 'ok') return report('complete', { result: { of: task.id, attempt: task.attempt } });
    if (name === 'wait') return report('release', { delay: `${ms}s` });
    const error = { code: 'broken', message: 'as its payload says' };
    return report('fail', { error, ...(name === 'fatal' && { retry: false }) });
  }

  /** Some report the ends of many attempts in one call. @returns the status of the answer */
  async #report(leaseId: string, kind: Report['kind'], body: object): Promise<number | undefined> {
    if (this.#parts.max < 3)
      return (await this.#ask(`leases/${leaseId}/${kind}`, body, REPORT_TRIES))?.status;
    const outcomes = [{ lease_id: leaseId, outcome: kind, ...body }];
    const answer = await this.#ask('leases/settle', { outcomes }, REPORT_TRIES);
    return answer?.status === 200 ? answer.json.results[0].status : answer?.status;
  }

  /** Works on a task for so long. @returns false if it was asked to stop */
  async #busy(leaseId: string, ms: number): Promise<boolean> {
    const { time } = this.#parts;
    const every = 1_500;
    let left = ms;
    for (; left > every; left -= every) {
      await time.passed(every);
      const answer = await this.#ask(`leases/${leaseId}/heartbeat`, { progress: 50 }, 2);
      if (answer?.json?.cancel_requested === true) return false;
    }
    await time.passed(left);
    return true;
  }

  get #waitMs(): number {
    return this.#parts.person === undefined ? WAIT_MS : PERSON_WAIT_MS;
  }

  #ask(path: string, body: object, tries: number): Promise<CallAnswer | null> {
    const { callers, tenant, token } = this.#parts;
    const request = {
      method: 'POST',
      host: `${tenant}.tasks.test`,
      target: `/api/v1/${path}`,
      token: token(),
      body,
      patienceMs: this.#waitMs + 5_000,
    };
    return callers.ask(request, this.#salt++, tries);
  }
}
