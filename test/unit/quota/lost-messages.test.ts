import t from 'tap';
import { DeskScene, pairsOf, type SceneProxy } from '../../support/quota/desk-scene.ts';
import { ModelBucket } from '../../support/quota/model-proxy.ts';

const LIMIT = 100_000;
const RULES = `
  domain: api
  descriptors:
    - key: user
      quota: { for: 60s }
      rate_limit: { unit: day, requests_per_unit: ${LIMIT} }
`;

/** A proxy with one bucket, which gets requests at a rate and reports them each second. */
class OneBucketProxy {
  readonly bucket = new ModelBucket(pairsOf('user=ann'), 'envoy', 'deny');
  readonly #scene: DeskScene;
  readonly #connection: SceneProxy;
  admitted = 0;

  constructor(scene: DeskScene) {
    this.#scene = scene;
    this.#connection = scene.open();
  }

  /** Requests of a second arrive. */
  async second(rate: number): Promise<void> {
    for (let i = 0; i < 100; i++) {
      await this.#scene.pass(10);
      for (let request = 0; request < rate / 100; request++)
        if (this.bucket.request(this.#scene.decisions.clock.nowMs()).isAllowed) this.admitted++;
    }
  }

  /** Reports, and applies what it is sent. Returns the tokens per interval of the assignment; 0 if it denies. */
  async report(isDelivered = true): Promise<number> {
    const { allowed, denied } = this.bucket.take();
    const [action] = await this.#connection.reports('user=ann', allowed, denied);
    if (isDelivered) this.bucket.apply(action, this.#scene.decisions.clock.nowMs());
    return action.tokens;
  }

  close(): void {
    this.#connection.close();
  }
}

/** Callers of `ShouldRateLimit` take whatever is left. Returns how much that is. */
async function takeRest(scene: DeskScene): Promise<number> {
  let taken = 0;
  for (let hits = LIMIT; hits >= 1; hits = Math.floor(hits / 2)) {
    const fits = LIMIT - (await scene.counted('user=ann')) >= hits;
    if (fits && (await scene.asks('user=ann', hits))) taken += hits;
  }
  return taken;
}

t.test(
  'a proxy may use a grant to its end if the smaller one that replaces it gets lost with the stream',
  async t => {
    const scene = new DeskScene({ rules: RULES });
    const proxy = new OneBucketProxy(scene);
    let granted = 0;
    for (let second = 0; second < 6; second++) {
      await proxy.second(400);
      granted = await proxy.report();
    }
    t.ok(granted >= 400, `${granted} tokens`);
    let replaced = granted;
    while (replaced === granted) {
      await proxy.second(0);
      replaced = await proxy.report(false);
    }
    t.ok(replaced < granted / 2, `${replaced} tokens`);
    proxy.close();
    await scene.pass(0);
    const taken = await takeRest(scene);
    for (let second = 0; second < 60; second++) await proxy.second(400);
    t.ok(proxy.admitted > 10_000, `${proxy.admitted} by the proxy`);
    t.ok(
      proxy.admitted + taken <= LIMIT,
      `${proxy.admitted} by the proxy and ${taken} by callers of ${LIMIT}`,
    );
  },
);
