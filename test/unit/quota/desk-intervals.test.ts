import t from 'tap';
import { DeskScene, type SceneProxy } from '../../support/quota/desk-scene.ts';
import type { ReadAction } from '../../support/quota/model-proxy.ts';

function rulesOf(unit: string, requests: number): string {
  return `{ domain: api, descriptors: [{ key: user, rate_limit: { unit: ${unit}, requests_per_unit: ${requests} } }] }`;
}

/** Envoy compares tokens only: it would keep the shorter interval of an assignment that is followed by one with as many. */
function isMistaken(before: ReadAction, { kind, tokens, intervalS }: ReadAction): boolean {
  const isSame = kind === 'token_bucket' && before.kind === kind && before.tokens === tokens;
  return isSame && (before.intervalS < intervalS || (tokens > 1 && before.intervalS > intervalS));
}

/** Reports for some seconds. Returns all that the proxy was sent. */
async function reportFor(scene: DeskScene, proxy: SceneProxy, seconds: number): Promise<ReadAction[]> {
  const sent: ReadAction[] = [];
  for (let second = 0; second < seconds; second++) {
    sent.push(...(await proxy.reports('user=ann', 0, 1)));
    await scene.pass(1_000);
  }
  return sent;
}

t.test('an assignment with another interval has another number of tokens', async t => {
  const limits: [string, number][] = [
    ['minute', 6_000],
    ['minute', 60],
    ['day', 10_000],
    ['minute', 30],
    ['hour', 500],
    ['minute', 10_000],
  ];
  const scene = new DeskScene({ rules: rulesOf('minute', 6_000) });
  const proxies = Array.from({ length: 12 }, () => scene.open());
  const sent = new Map<SceneProxy, ReadAction[]>(proxies.map(proxy => [proxy, []]));
  for (const [unit, requests] of limits) {
    scene.load(rulesOf(unit, requests));
    for (const proxy of proxies)
      sent.get(proxy)!.push(...(await reportFor(scene, proxy, 3)), ...proxy.sent());
  }
  const intervals = new Set<number>();
  for (const actions of sent.values())
    for (const [i, action] of actions.entries()) {
      if (action.kind === 'token_bucket') intervals.add(action.intervalS);
      if (i > 0 && isMistaken(actions[i - 1], action)) t.fail(JSON.stringify(actions.slice(i - 1, i + 1)));
    }
  t.ok(intervals.size >= 2, `intervals of ${[...intervals]} s`);
});
