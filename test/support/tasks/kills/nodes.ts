import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../seeded-random.ts';
import { type ServiceProcess, startService } from '../../service.ts';

/** Kills come so long after one another, in milliseconds. */
const LEAST_MS = 300;
const MOST_MS = 1_000;
const START_MS = 60_000;

interface Node {
  /** Null while it starts. */
  service: ServiceProcess | null;
  starting: Promise<void>;
}

/** Processes of the service over one store, each with ports of its own, that are killed and started again. */
export class Nodes {
  kills = 0;
  readonly #env: Readonly<Record<string, string>>;
  readonly #nodes: Node[] = [];
  readonly #random: SeededRandom;
  #stopped = false;

  constructor(env: Readonly<Record<string, string>>, seed: number) {
    this.#env = env;
    this.#random = new SeededRandom(seed);
  }

  async start(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const node: Node = { service: null, starting: Promise.resolve() };
      node.starting = this.#start(node);
      this.#nodes.push(node);
    }
    await this.allUp();
  }

  /** Address of a process that was up a moment ago; undefined when none was. */
  pick(random: SeededRandom): string | undefined {
    const up = this.#nodes.flatMap(({ service }) => service?.http ?? []);
    return up.length === 0 ? undefined : random.pick(up);
  }

  /** Kills one after the other, at random, until this time of the process (`performance.now`), but at least so often. */
  async killUntil(endMs: number, least: number): Promise<void> {
    for (;;) {
      await sleep(LEAST_MS + this.#random.below(MOST_MS - LEAST_MS));
      if (performance.now() >= endMs && this.kills >= least) return;
      const up = this.#nodes.filter(({ service }) => service !== null);
      if (up.length > 0) this.#kill(this.#random.pick(up));
    }
  }

  async allUp(): Promise<void> {
    await Promise.all(this.#nodes.map(({ starting }) => starting));
  }

  /** Ends all as an operator would. @returns how each ended */
  async stop(): Promise<(number | string | null)[]> {
    this.#stopped = true;
    await Promise.allSettled(this.#nodes.map(({ starting }) => starting));
    return Promise.all(
      this.#nodes.map(async ({ service }) => {
        const end = await service?.terminate();
        return end === undefined ? 'not started' : (end.signal ?? end.status);
      }),
    );
  }

  #kill(node: Node): void {
    const killed = node.service!.terminate('SIGKILL');
    this.kills++;
    node.service = null;
    node.starting = killed.then(() => this.#start(node));
  }

  async #start(node: Node): Promise<void> {
    if (this.#stopped) return;
    node.service = await startService({ env: this.#env, fronts: ['http'], withinMs: START_MS });
  }
}
