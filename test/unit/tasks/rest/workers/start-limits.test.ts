import t from 'tap';
import type { LimitQuestion } from '../../../../../src/tasks/scheduler/attempts/start-limits.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => open());

const LIMIT = { domain: 'edge', descriptor: [{ key: 'upstream', value: 'billing' }] };

/** A service whose operator lists these domains. */
function open(limitDomains: readonly string[] = ['edge', 'api']): Promise<TaskHarness> {
  return TaskHarness.open({ limitDomains });
}

test('a worker may name a limit of a domain that the operator lists', async (rest, t) => {
  const made = await rest.at('POST', 'workers', { name: 'billing', mode: 'pull', limit: LIMIT });
  t.match(made, { status: 201, json: { limit: LIMIT } });
  t.same((await rest.read('workers/billing')).limit, LIMIT);
  const other = { domain: 'api', descriptor: [{ key: 'a', value: 'b' }, ...LIMIT.descriptor] };
  t.same((await rest.at('PUT', 'workers/billing', { limit: other })).json.limit, other);
  t.same(
    (await rest.at('PUT', 'workers/billing', { priority: 'low' })).json.limit,
    other,
    'left out, it stays',
  );
  t.equal((await rest.at('PUT', 'workers/billing', { limit: null })).json.limit, null);
});

t.test('any other domain is refused with the setting to change', async t => {
  for (const [listed, accepted] of [
    [[], 'TASKS_LIMIT_DOMAINS is empty'],
    [['api', 'mail'], 'allowed are api, mail (TASKS_LIMIT_DOMAINS)'],
  ] as const) {
    const rest = await open(listed);
    const { status, json } = await rest.at('POST', 'workers', {
      name: 'billing',
      mode: 'pull',
      limit: LIMIT,
    });
    t.equal(status, 422);
    t.match(json.errors, [{ pointer: '/limit/domain', code: 'forbidden' }]);
    t.ok(json.detail.endsWith(accepted), json.detail);
  }
});

t.test('what was read can be sent back after the domain was taken off the list', async t => {
  const domains = ['edge'];
  const rest = await open(domains);
  await rest.made('workers', { name: 'billing', mode: 'pull', limit: LIMIT });
  domains.pop();
  const json = await rest.read('workers/billing');
  t.equal((await rest.at('PUT', 'workers/billing', json)).status, 200);
  const other = { ...LIMIT, descriptor: [{ key: 'upstream', value: 'other' }] };
  t.equal((await rest.at('PUT', 'workers/billing', { limit: other })).status, 422);
});

test('descriptors are bounded', async (rest, t) => {
  const entry = { key: 'k', value: 'v' };
  const refused: readonly (readonly [string, unknown])[] = [
    ['/limit/descriptor', []],
    ['/limit/descriptor', Array.from({ length: 9 }, () => entry)],
    ['/limit/descriptor/0/key', [{ ...entry, key: '' }]],
    ['/limit/descriptor/0/value', [{ ...entry, value: 'v'.repeat(129) }]],
    ['/limit/descriptor/0/value', [{ ...entry, value: 'a\nb' }]],
    ['/limit/descriptor/0/value', [{ key: 'k' }]],
  ];
  for (const [pointer, descriptor] of refused) {
    const limit = { domain: 'edge', descriptor };
    const { status, json } = await rest.at('POST', 'workers', { name: 'billing', mode: 'pull', limit });
    t.equal(status, 422, JSON.stringify(descriptor));
    t.match(json.errors, [{ pointer }]);
  }
  const limit = {
    domain: 'edge',
    descriptor: Array.from({ length: 8 }, () => ({ key: 'ü', value: 'v'.repeat(128) })),
  };
  t.equal((await rest.at('POST', 'workers', { name: 'billing', mode: 'pull', limit })).status, 201);
});

test('a due task says that its worker has used up its limit', async (rest, t) => {
  await rest.pushWorker({ limit: LIMIT });
  const { id } = await rest.task();
  const asked: LimitQuestion[] = [];
  let isUsedUp = false;
  rest.limitAsker = {
    ask: async question => {
      asked.push(question);
      return { granted: 0, isUsedUp, remaining: null, window: null };
    },
    giveBack: () => {},
  };
  const waitingFor = async () => (await rest.read(`tasks/${id}`)).waiting_for;
  t.equal(await waitingFor(), 'capacity');
  isUsedUp = true;
  t.equal(await waitingFor(), 'limit');
  t.same(asked, Array(2).fill({ tenant: 'acme', limit: LIMIT, tasks: 0 }), 'without a hit');
  rest.limitAsker = { ask: () => Promise.reject(new Error('no store')), giveBack: () => {} };
  t.equal(await waitingFor(), 'limit', 'also when there is no decision');
});
