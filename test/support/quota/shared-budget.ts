import { SeededRandom } from '../seeded-random.ts';
import { type DeskScene, pairsOf, type SceneProxy } from './desk-scene.ts';
import { ModelBucket, type ProxyKind } from './model-proxy.ts';

const STEP_MS = 50;

/** A second in which proxies and callers have shared a budget. */
export interface SharedSecond {
  /** When it began, in seconds since the epoch. */
  readonly atS: number;
  /** Requests that proxies have admitted, and that callers were allowed. */
  proxied: number;
  called: number;
  /** Hits that were paid for proxies when the second began, and that they had not used; of the first limit. */
  readonly outstanding: number;
}

interface Budget {
  readonly scene: DeskScene;
  /** The bucket, and the descriptor of the callers. */
  readonly entries: string;
  /** Requests per second of each proxy, and of all callers of `ShouldRateLimit`. */
  readonly proxies: readonly number[];
  readonly callers: number;
}

/** Proxies with one bucket and callers use up a budget for a number of seconds. */
export async function shareBudget(
  { scene, entries, proxies, callers }: Budget,
  seconds: number,
): Promise<SharedSecond[]> {
  const random = new SeededRandom(1);
  const kinds: readonly ProxyKind[] = ['envoy', 'old envoy', 'stepwise'];
  const running = proxies.map((rate, i) => new BudgetProxy(scene, entries, kinds[i % 3], rate));
  const passed: SharedSecond[] = [];
  for (let second = 0; second < seconds; second++) {
    const now = {
      atS: scene.decisions.clock.nowMs() / 1_000,
      proxied: 0,
      called: 0,
      outstanding: outstandingIn(scene),
    };
    passed.push(now);
    for (let ms = 0; ms < 1_000; ms += STEP_MS) {
      for (const proxy of running) now.proxied += proxy.step(random);
      let coming = Math.floor((callers * STEP_MS) / 1_000 + random.next());
      while (coming-- > 0) if (await scene.asks(entries)) now.called++;
      await scene.pass(STEP_MS);
    }
    for (const proxy of running) await proxy.report();
  }
  return passed;
}

function outstandingIn({ desk }: DeskScene): number {
  let outstanding = 0;
  for (const { limits } of desk.buckets)
    for (const { paid, spent } of limits[0]?.windows ?? []) outstanding += paid - spent;
  return outstanding;
}

class BudgetProxy {
  readonly #scene: DeskScene;
  readonly #connection: SceneProxy;
  readonly #bucket: ModelBucket;
  readonly #entries: string;
  readonly #rate: number;

  constructor(scene: DeskScene, entries: string, kind: ProxyKind, rate: number) {
    this.#scene = scene;
    this.#connection = scene.open();
    this.#bucket = new ModelBucket(pairsOf(entries), kind, 'deny');
    this.#entries = entries;
    this.#rate = rate;
  }

  /** Requests arrive. Returns how many are admitted. */
  step(random: SeededRandom): number {
    let admitted = 0;
    let coming = Math.floor((this.#rate * STEP_MS) / 1_000 + random.next());
    while (coming-- > 0) if (this.#bucket.request(this.#scene.decisions.clock.nowMs()).isAllowed) admitted++;
    return admitted;
  }

  async report(): Promise<void> {
    const { allowed, denied } = this.#bucket.take();
    const actions = await this.#connection.reports(this.#entries, allowed, denied);
    for (const action of actions) this.#bucket.apply(action, this.#scene.decisions.clock.nowMs());
  }
}
