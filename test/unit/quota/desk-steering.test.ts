import t from 'tap';
import { SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import type { SteeringTable } from '../../../src/steering/steering-table.ts';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { shareBudget } from '../../support/quota/shared-budget.ts';
import { record, sharedRecords } from '../../support/steering.ts';

const RULES = `
  domain: api
  descriptors:
    - key: user
      rate_limit: { unit: second, requests_per_unit: 100 }
`;

/** Records that another thread replaces after they were read once. */
class ReplacedReader extends SharedRecordsReader {
  readonly #then: () => void;
  #reads = 0;

  constructor(buffer: SharedArrayBuffer, then: () => void) {
    super(buffer);
    this.#then = then;
  }

  override at(nowMs: number): SteeringTable | null {
    if (this.#reads++ === 1) this.#then();
    return super.at(nowMs);
  }
}

t.test(
  'a ban that another thread publishes while a round is planned applies from the next round on',
  async t => {
    const shared = sharedRecords();
    const ban = record('ban', 'user=ann', { domain: 'api' });
    const steering = new ReplacedReader(shared.buffer, () => shared.publish([ban]));
    const scene = new DeskScene({ rules: RULES, steering });
    const proxy = scene.open();
    await proxy.reports('user=ann', 10);
    await scene.pass(1_000);
    t.match(await proxy.reports('user=ann', 10), [{ kind: 'deny_all' }]);
    t.same(scene.decisions.logger.lines, []);
  },
);

t.test('bans that come and go do not let proxies and callers exceed a limit', async t => {
  const shared = sharedRecords();
  const limit = 'rate_limit: { unit: minute, requests_per_unit: 3000 }';
  const rules = `{ domain: api, descriptors: [{ key: user, ${limit} }] }`;
  const scene = new DeskScene({ rules, steering: shared.buffer });
  const byMinute = new Map<number, number>();
  for (let part = 0; part < 40; part++) {
    const nowS = scene.decisions.clock.nowMs() / 1_000;
    shared.publish(part % 3 === 0 ? [record('ban', 'user=ann', { domain: 'api', nowS })] : []);
    const budget = { scene, entries: 'user=ann', proxies: [60, 20], callers: 20 };
    for (const { atS, proxied, called } of await shareBudget(budget, 4)) {
      const minute = Math.floor(atS / 60);
      byMinute.set(minute, (byMinute.get(minute) ?? 0) + proxied + called);
    }
  }
  for (const hits of byMinute.values()) t.ok(hits > 200 && hits <= 3_000, `${hits} of 3,000`);
});
