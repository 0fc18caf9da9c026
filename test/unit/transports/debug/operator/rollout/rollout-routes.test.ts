import t, { type Test } from 'tap';
import {
  type KnownInstances,
  rolloutRoutes,
} from '../../../../../../src/transports/debug/operator/rollout/rollout-routes.ts';
import type { ProcessView } from '../../../../../../src/transports/debug/operator/status-routes.ts';
import { ManualClock } from '../../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../../support/operator-api.ts';
import { askingOperator, startedDebugServer } from '../../debugging.ts';

const NOW_MS = 1_700_000_000_000;
const OLD = 'a'.repeat(64);
const NEW = 'b0'.repeat(32);

function instance(host: string, more: Partial<ProcessView> = {}): ProcessView {
  return {
    id: `id-${host}`,
    host,
    pid: 7,
    started: timeText(-60_000),
    seen: timeText(0),
    version: '1.0.0',
    hits_per_second: null,
    rejected_per_second: null,
    rules_loaded: timeText(-1_000),
    rules_digest: NEW,
    rules_error: null,
    is_this: false,
    ...more,
  };
}

function timeText(agoMs: number): string {
  return new Date(NOW_MS + agoMs).toISOString();
}

async function served(t: Test, known: KnownInstances) {
  const clock = new ManualClock(NOW_MS);
  const operator = operatorApi({ routes: rolloutRoutes(async () => known), clock });
  return askingOperator(await startedDebugServer(t, clock, { operator }));
}

const TOGETHER = { isShared: true, isComplete: true };

t.test('rules are applied when all instances use them', async t => {
  const ask = await served(t, { instances: [instance('a', { is_this: true }), instance('b')], ...TOGETHER });
  const { status, json } = await ask(`/rollout?digest=${NEW}`);
  t.equal(status, 200);
  t.match(json, {
    time: timeText(0),
    digest: NEW,
    applied: true,
    shared: true,
    complete: true,
    instances: [
      { id: 'id-a', host: 'a', pid: 7, is_this: true, state: 'applied', digest: NEW, error: null },
      { host: 'b', is_this: false, state: 'applied', loaded: timeText(-1_000), version: '1.0.0' },
    ],
  });
  t.match((await ask(`/rollout?digest=${OLD}`)).json, { applied: false, instances: [{ state: 'behind' }] });
});

t.test('a digest may be a beginning of 12 digits, in either case; any other text is refused', async t => {
  const ask = await served(t, { instances: [instance('a', { is_this: true })], ...TOGETHER });
  t.match((await ask('/rollout?digest=B0B0B0B0B0B0')).json, { digest: 'b0b0b0b0b0b0', applied: true });
  for (const digest of ['b0b0b0b0b0b', 'b0b0b0b0b0bx', `${NEW}0`, '']) {
    t.match(await ask(`/rollout?digest=${digest}`), {
      status: 400,
      json: { code: 'invalid_parameter', detail: /The parameter digest must be 12 to 64 hex digits/ },
    });
  }
});

t.test('without a digest, the rules of the process that answers are meant', async t => {
  const others = [instance('b', { rules_digest: OLD })];
  const ask = await served(t, { instances: [instance('a', { is_this: true }), ...others], ...TOGETHER });
  t.match((await ask('/rollout')).json, {
    digest: NEW,
    applied: false,
    instances: [{}, { state: 'behind' }],
  });
  const none = await served(t, {
    instances: [instance('a', { is_this: true, rules_digest: null })],
    ...TOGETHER,
  });
  t.match(await none('/rollout'), { status: 503, json: { code: 'no_rules' } });
  t.match((await none(`/rollout?digest=${NEW}`)).json, { applied: false, instances: [{ state: 'unknown' }] });
});

t.test('an instance that does not use the rules is named with what keeps it', async t => {
  const old = { rules_digest: OLD };
  const ask = await served(t, {
    instances: [
      instance('this', { is_this: true }),
      instance('behind', { ...old, seen: timeText(-7_000) }),
      instance('refused', { ...old, rules_error: 'a.yaml:1:1: d: no' }),
      instance('silent', { ...old, rules_error: 'a.yaml:1:1: d: no', seen: timeText(-7_001) }),
      instance('earlier', { rules_digest: null }),
      // Newer rules than those that are asked for.
      instance('ahead', { rules_error: 'b.yaml:1:1: d: no', seen: timeText(-7_000) }),
      instance('ended', { seen: timeText(-7_001) }),
    ],
    ...TOGETHER,
  });
  const { applied, instances } = (await ask(`/rollout?digest=${NEW}`)).json;
  t.equal(applied, false);
  t.same(
    instances.map(({ host, state, error }: Record<string, unknown>) => [host, state, error]),
    [
      ['this', 'applied', null],
      ['behind', 'behind', null],
      ['refused', 'refused', 'a.yaml:1:1: d: no'],
      ['silent', 'silent', 'a.yaml:1:1: d: no'],
      ['earlier', 'unknown', null],
      ['ahead', 'applied', 'b.yaml:1:1: d: no'],
      ['ended', 'silent', null],
    ],
  );
});

t.test('rules are not applied while there may be instances that are not known', async t => {
  const instances = [instance('a', { is_this: true })];
  const ask = await served(t, { instances, isShared: true, isComplete: false });
  t.match((await ask(`/rollout?digest=${NEW}`)).json, { applied: false, complete: false });
  const alone = await served(t, { instances, isShared: false, isComplete: true });
  t.match((await alone(`/rollout?digest=${NEW}`)).json, { applied: true, shared: false });
});
