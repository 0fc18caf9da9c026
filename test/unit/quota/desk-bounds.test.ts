import t from 'tap';
import { DeskScene } from '../../support/quota/desk-scene.ts';

const RULES = `
  domain: api
  descriptors:
    - key: user
      rate_limit: { unit: minute, requests_per_unit: 6000 }
`;

t.test('a proxy that reports a thousand times a second gets few grants', async t => {
  for (const requests of [600, 6_000]) {
    const scene = new DeskScene({ rules: RULES.replace('6000', String(requests)) });
    const proxies = Array.from({ length: 5 }, () => scene.open());
    for (const proxy of proxies) await proxy.reports('user=ann');
    const [bucket] = scene.desk.buckets;
    let most = 0;
    for (let report = 0; report < 5_000; report++) {
      await scene.pass(1);
      const proxy = proxies[report % 3 === 0 ? 0 : report % 5];
      await proxy.reports('user=ann', 1, report % 11);
      for (const { grants } of bucket.subscribers) most = Math.max(most, grants.length);
    }
    t.ok(most > 1 && most <= 25, `${most} grants of ${requests} requests`);
  }
});
