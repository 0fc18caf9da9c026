import t from 'tap';
import { DeskScene, type SceneProxy } from '../../support/quota/desk-scene.ts';

function rulesOf(rule: string): string {
  return `{ domain: api, descriptors: [{ key: user, ${rule} }] }`;
}

const PER_MINUTE = rulesOf('rate_limit: { unit: minute, requests_per_unit: 6000 }');

/** A proxy that has had 100 requests each second for some seconds. */
async function busyProxy(scene: DeskScene): Promise<SceneProxy> {
  const proxy = scene.open();
  for (let second = 0; second < 5; second++) {
    await proxy.reports('user=ann', 100);
    await scene.pass(1_000);
  }
  return proxy;
}

t.test('rules with the same counter are loaded: nothing is paid twice', async t => {
  const scene = new DeskScene({ rules: PER_MINUTE });
  const proxy = await busyProxy(scene);
  await proxy.reports('user=ann', 100);
  const before = await scene.counted('user=ann');
  scene.load(PER_MINUTE.replace('] }', ', { key: plan }] }'));
  t.match(await proxy.reports('user=ann', 0), [{ kind: 'token_bucket' }]);
  t.equal(await scene.counted('user=ann'), before);
});

t.test('rules with another counter are loaded: what proxies may still admit is paid in it', async t => {
  const scene = new DeskScene({ rules: PER_MINUTE });
  const proxy = await busyProxy(scene);
  scene.load(
    rulesOf('value: "a*", share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 6000 }'),
  );
  const [{ tokens, ttlS }] = await proxy.reports('user=ann', 100);
  t.ok((await scene.counted('user=abel')) >= tokens * ttlS, 'abel and ann share the counter');
});

t.test('a limit of a minute replaces one of a day: grants do not wait for the end of the day', async t => {
  const scene = new DeskScene({ rules: rulesOf('rate_limit: { unit: day, requests_per_unit: 1000 }') });
  const proxy = await busyProxy(scene);
  scene.load(PER_MINUTE);
  for (let second = 0; second < 3; second++) {
    await proxy.reports('user=ann', 100);
    await scene.pass(1_000);
  }
  const [{ kind, tokens }] = await proxy.reports('user=ann', 100);
  t.equal(kind, 'token_bucket');
  t.ok(tokens > 60, `${tokens} tokens`);
});

t.test('a limit is added to a rule, and removed again: the other one keeps what was paid in it', async t => {
  const minute = '{ unit: minute, requests_per_unit: 6000 }';
  const one = rulesOf(`rate_limits: [${minute}]`);
  const scene = new DeskScene({ rules: one });
  const proxy = await busyProxy(scene);
  await proxy.reports('user=ann', 100);
  const before = await scene.counted('user=ann');
  scene.load(rulesOf(`rate_limits: [{ unit: day, requests_per_unit: 100000 }, ${minute}]`));
  t.match(await proxy.reports('user=ann', 0), [{ kind: 'token_bucket' }]);
  scene.load(one);
  t.match(await proxy.reports('user=ann', 0), [{ kind: 'token_bucket' }]);
  t.equal(await scene.counted('user=ann'), before);
});
