import t from 'tap';
import { ACTION, LEASE, LEASE_MODE, LeaseStep, STEP } from '../../../../../src/counters/leases/lease.ts';
import { LEASE_DECISIONS, UNDO } from '../../../../../src/counters/redis/protocol/lease-functions.ts';
import { redisFor } from '../../../../support/redis-server.ts';

const redis = await redisFor(t);

const SCRIPT = `local max, min = math.max, math.min
${LEASE_DECISIONS}
local results = {}
for i, case in ipairs(cjson.decode(ARGV[1])) do
  local step, hits = stepOf(case[1], case[2], case[3])
  results[i] = step .. ' ' .. hits
end
return cjson.encode(results)`;

const BOOLEANS = [false, true];

/** Every combination of terms, calls and records, with hits around those of the record and the estimate. */
function* cases() {
  for (const mode of Object.values(LEASE_MODE))
    for (const hasHolders of BOOLEANS)
      for (const settles of BOOLEANS)
        for (const zeroSettles of BOOLEANS)
          for (const estimate of [0, 5]) {
            const terms = {
              mode,
              forS: 10,
              hasHolders,
              settles,
              zeroSettles,
              estimate,
              allowsOverdraft: false,
            };
            for (const call of calls()) for (const record of records()) yield [terms, call, record] as const;
          }
}

function* calls() {
  for (const action of Object.values(ACTION))
    for (const hits of [0, 1, 4, 9])
      for (const isRefund of BOOLEANS)
        for (const isNamed of BOOLEANS) yield { action, hits, isRefund, isNamed };
}

function* records() {
  yield { state: LEASE.none, hits: 0 };
  for (const state of [LEASE.live, LEASE.settled, LEASE.expired])
    for (const hits of [-1, 0, 4]) yield { state, hits };
}

async function decided(all: readonly unknown[]): Promise<string[]> {
  return JSON.parse(String(await redis.command('EVAL', SCRIPT, '0', JSON.stringify(all))));
}

t.test('Redis decides every call like the other stores', async t => {
  const all = [...cases()];
  const step = new LeaseStep();
  const expected = all.map(([terms, call, record]) => {
    step.choose(terms, call, record);
    return `${step.kind} ${step.hits}`;
  });
  const found = await decided(all);
  const differing = all.filter((_, i) => found[i] !== expected[i]);
  t.equal(found.length, all.length);
  t.same(differing.slice(0, 5), []);
});

t.test('what an op has taken can be taken back, if it is still there', async t => {
  const terms = {
    mode: LEASE_MODE.reserve,
    hasHolders: true,
    settles: true,
    zeroSettles: false,
    estimate: 0,
  };
  const call = { hits: 3, isRefund: false, isNamed: true };
  const live = { state: LEASE.live, hits: 5 };
  const settled = { state: LEASE.settled, hits: 5 };
  t.same(
    await decided([
      [terms, { ...call, action: UNDO.take }, live],
      [terms, { ...call, action: UNDO.take }, settled],
      [terms, { ...call, action: UNDO.spend }, settled],
    ]),
    [`${STEP.free} 3`, `${STEP.nothing} 3`, `${STEP.giveBack} 3`],
  );
});
