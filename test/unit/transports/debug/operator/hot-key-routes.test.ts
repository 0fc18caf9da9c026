import t, { type Test } from 'tap';
import { CounterTable } from '../../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../../src/counters/embedded/embedded-store.ts';
import { hotKeyRoutes } from '../../../../../src/transports/debug/operator/hot-key-routes.ts';
import { request } from '../../../../support/decisions.ts';
import { WatchedDecisions } from '../../../../support/hot-keys.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 100 }
`;

async function api(t: Test, isEnabled = true) {
  const watched = new WatchedDecisions({
    store: new EmbeddedCounterStore(CounterTable.create(64)),
    rules: RULES,
  });
  const { clock } = watched.decisions;
  const routes = hotKeyRoutes({ readers: isEnabled ? watched : null, rules: () => watched.decisions.rules });
  const server = await startedDebugServer(t, clock, { operator: operatorApi({ routes, clock }) });
  for (const text of ['user=ann', 'user=ann', 'path=/a', 'user=bob']) {
    await watched.decisions.ask(request('d', text));
  }
  return { watched, get: askingOperator(server) };
}

t.test('the hottest keys of all limits, and of one limit', async t => {
  const { get, watched } = await api(t);
  const user = watched.limit('d.user');
  t.match(await get('/keys?limit=1'), {
    status: 200,
    json: {
      since: '2023-11-14T22:12:40.000Z',
      until: '2023-11-14T22:13:20.000Z',
      keys: [
        {
          limit: user,
          path: 'd.user',
          key: 'user=ann',
          counter: 'd_user_ann_1699999200',
          hits: 2,
          refused: 1,
          error: 0,
        },
      ],
    },
  });
  const { json } = await get(`/limits/${user}/keys?span=hour`);
  t.same(json.keys.map((hot: { key: string }) => hot.key).sort(), ['user=ann', 'user=bob']);
});

t.test('the last refusals of all limits, and of one limit', async t => {
  const { get, watched } = await api(t);
  const refusal = {
    time: '2023-11-14T22:13:20.000Z',
    path: 'd.user',
    key: 'user=ann',
    domain: 'd',
    entries: [{ key: 'user', value: 'ann' }],
    hits: 1,
    count: 2,
    requests_per_unit: 1,
    most: 1,
    shadow_mode: false,
    penalized: false,
    banned: false,
    peer: null,
    trace_id: null,
  };
  t.same((await get('/refusals')).json, { refusals: [refusal] });
  t.same((await get(`/limits/${watched.limit('d.user')}/refusals?limit=5`)).json, { refusals: [refusal] });
  t.same((await get(`/limits/${watched.limit('d.path')}/refusals`)).json, { refusals: [] });
});

t.test('limits that do not exist, unknown spans and too many keys are refused', async t => {
  const { get } = await api(t);
  t.match(await get('/limits/2/keys'), { status: 404, json: { code: 'not_found' } });
  t.match(await get('/limits/x/refusals'), { status: 404 });
  t.match(await get('/keys?span=day'), { status: 400, json: { code: 'invalid_parameter' } });
  t.match(await get('/keys?limit=501'), { status: 400 });
});

t.test('with HOT_KEYS_ENABLED=false, the answer names the setting', async t => {
  const { get } = await api(t, false);
  for (const path of ['/keys', '/refusals', '/limits/0/keys']) {
    t.match(await get(path), { status: 404, json: { detail: /HOT_KEYS_ENABLED is false/ } });
  }
});

t.test('the OpenAPI document has the routes', async t => {
  const { get } = await api(t);
  const { json } = await get('/openapi.json');
  t.match(json.paths['/limits/{number}/keys'].get, { operationId: 'listHotKeysOfLimit' });
  t.match(json.paths['/refusals'].get, { operationId: 'listRefusals', security: [] });
});
