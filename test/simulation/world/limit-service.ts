import type {
  LimitAsker,
  LimitQuestion,
  LimitVerdict,
  UnusedHits,
} from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** A descriptor whose value is a number allows so many starts in each window of this length. */
export const WINDOW_MS = 10_000;

/** Decides about limits of workers: fixed windows. The value of the descriptor says how many starts are allowed. */
export class LimitService implements LimitAsker {
  readonly #time: SimulatedTime;
  readonly #delayMs: number;
  /** By tenant and value: the hits of each window, as granted and not given back. */
  readonly #windows = new Map<string, { start: number; hits: number }>();
  readonly #granted = new Map<string, number>();

  constructor(time: SimulatedTime, delayMs: number) {
    this.#time = time;
    this.#delayMs = delayMs;
  }

  async ask({ tenant, limit, tasks }: LimitQuestion): Promise<LimitVerdict> {
    await this.#time.passed(this.#delayMs);
    const { value } = limit.descriptor[limit.descriptor.length - 1];
    const most = Number(value);
    const window = this.#window(`${tenant} ${value}`);
    const granted = Math.max(0, Math.min(tasks, most - window.hits));
    window.hits += granted;
    this.#count(`${tenant} ${value}`, granted);
    const endMs = window.start + WINDOW_MS;
    return {
      granted,
      isUsedUp: granted < tasks || window.hits >= most,
      remaining: Math.max(0, most - window.hits),
      window: { leftMs: endMs - this.#time.nowMs(), refundableUntilMs: endMs - 1_000 },
    };
  }

  giveBack({ tenant, limit, tasks, refundableUntilMs }: UnusedHits): void {
    if (this.#time.nowMs() > refundableUntilMs) return;
    const { value } = limit.descriptor[limit.descriptor.length - 1];
    const window = this.#window(`${tenant} ${value}`);
    window.hits = Math.max(0, window.hits - tasks);
    this.#count(`${tenant} ${value}`, -tasks);
  }

  /** How many starts were permitted so far, and not given back. */
  grantedOf(tenant: string, value: string): number {
    return this.#granted.get(`${tenant} ${value}`) ?? 0;
  }

  #count(name: string, by: number): void {
    this.#granted.set(name, (this.#granted.get(name) ?? 0) + by);
  }

  #window(name: string): { start: number; hits: number } {
    const start = this.#time.nowMs() - (this.#time.nowMs() % WINDOW_MS);
    let window = this.#windows.get(name);
    if (window === undefined || window.start !== start) {
      window = { start, hits: 0 };
      this.#windows.set(name, window);
    }
    return window;
  }
}
