import t from 'tap';
import { MAX_NAMES_PER_REQUEST } from '../../../src/decision/plan.ts';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { embeddedStore } from '../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: named
    detailed_metric: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;
const MORE = 40;
const COUNT = MAX_NAMES_PER_REQUEST + MORE;

const VALUES = Array.from({ length: COUNT }, (_, i) => `v${i}`);

for (const [name, descriptors] of [
  ['made from values', VALUES.map(value => descriptor(`named=${value}`))],
  [
    'of limits that the request brings',
    VALUES.map(value => descriptor(`named=${value}`, { limit: { requestsPerUnit: 2, unit: 3 } })),
  ],
] as const) {
  t.test(`the names ${name} that one request makes have a bound, and decisions do not`, async t => {
    const decisions = new Decisions({ store: embeddedStore(4_096), rules: RULES });
    const asked = { ...request('d'), descriptors };
    for (const remaining of [1, 0]) {
      const { statuses } = await decisions.ask(asked);
      t.equal(statuses.length, COUNT);
      t.ok(statuses.every(({ code, limitRemaining }) => code === 1 && limitRemaining === remaining));
    }
    t.equal((await decisions.ask(asked)).overallCode, 2);
    const named = VALUES.filter(value => decisions.rule(`d.named_${value}`)['total_hits'] === 3);
    t.same(named, VALUES.slice(0, MAX_NAMES_PER_REQUEST));
    t.equal(decisions.counter('ratelimit.stats.hits_dropped'), 3 * MORE);
    t.equal(decisions.counter('ratelimit.stats.names_dropped'), 3 * MORE);
  });
}
