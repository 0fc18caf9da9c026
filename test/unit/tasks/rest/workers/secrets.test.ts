import { HOUR_MS } from '../../../../../src/base/clock.ts';
import type { Account, Secret } from '../../../../../src/tasks/model/documents.ts';
import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();
const add = (rest: TaskHarness, body: object, asked = {}) =>
  rest.at('POST', 'workers/mailer/secrets', body, asked);

async function stored(rest: TaskHarness, id: string): Promise<Secret> {
  return (await rest.store.getDocument('acme', 'secret', id))!.body;
}

async function dataKey(rest: TaskHarness): Promise<Account['dataKey']> {
  return (await rest.store.getDocument('acme', 'account', 'account'))!.body.dataKey;
}

withMailer('a signing secret is shown once, and kept sealed', async ({ rest, worker }, t) => {
  t.equal(await dataKey(rest), null);
  rest.told.length = 0;
  const { status, json } = await rest.at('POST', 'workers/mailer/secrets');
  t.equal(status, 201);
  t.match(json, {
    id: /^sec_/,
    type: 'signing',
    name: 'default',
    value: /^whsec_[A-Za-z0-9+/]{43}=$/,
    fingerprint: /^[0-9a-f]{12}$/,
    state: 'active',
    created_at: iso(HARNESS_START_MS),
    created_by: { type: 'user' },
    last_used_at: null,
    expires_at: null,
  });
  t.same(rest.told, [
    ['workerChanged', 'acme', worker.id],
    ['accountChanged', 'acme'],
  ]);
  const secret = await stored(rest, json.id);
  const key = (await dataKey(rest))!;
  t.notMatch(JSON.stringify(secret), json.value.slice(6));
  const belongsTo = { tenant: 'acme', workerId: worker.id, secretId: json.id, type: 'signing' };
  t.equal(rest.sealer.open(secret.sealed!, key, belongsTo), json.value);
  const again = await add(rest, {});
  t.same(await dataKey(rest), key, 'the key of the tenant stays');
  t.not(again.json.value, json.value);
});

withMailer('of secrets that are created at the same time, one replaces the others', async ({ rest }, t) => {
  await rest.pullWorker({ name: 'puller' });
  for (const [worker, type] of [
    ['mailer', 'signing'],
    ['puller', 'token'],
  ]) {
    const path = `workers/${worker}/secrets`;
    const body = { type, expire_previous_in: '0s' };
    await Promise.all([1, 2, 3].map(() => rest.at('POST', path, body)));
    const { data } = await rest.read(path);
    const states = data.map(({ state }: { state: string }) => state);
    t.same(states.sort(), ['active', 'expired', 'expired'], type);
  }
});

withMailer('secrets of different workers are created at the same time', async ({ rest }, t) => {
  const workers = Array.from({ length: 12 }, (_, count) => `w${count}`);
  for (const name of workers) await rest.pushWorker({ name });
  const create = (name: string) => rest.at('POST', `workers/${name}/secrets`, {});
  t.same(
    new Set(each(await Promise.all(workers.map(create)), 'status')),
    new Set([201]),
    'with the first data key',
  );
  const before = await rest.store.getDocument('acme', 'account', 'account');
  t.same(new Set(each(await Promise.all(workers.map(create)), 'status')), new Set([201]));
  const after = await rest.store.getDocument('acme', 'account', 'account');
  t.equal(after!.version, before!.version, 'conditional changes of the account still apply');
});

withMailer('signing secrets that are created at the same time are at most five', async ({ rest }, t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const answers = await Promise.all(names.map(name => add(rest, { name })));
  t.same(each(answers, 'status').sort(), [201, 201, 201, 201, 201, 429]);
});

withMailer('values are in no list, no log and no repeated answer', async ({ rest }, t) => {
  await rest.pullWorker();
  const given = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  const headers = { 'idempotency-key': 'k' };
  const made = await add(rest, {}, { headers });
  const again = await add(rest, {}, { headers });
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  t.same(again.json, { ...made.json, value: null });
  t.equal((await add(rest, { value: given })).json.value, null, 'who gives a value has it');
  t.equal((await add(rest, { type: 'header', name: 'X-Api-Key', value: 'hush hush' })).json.value, null);
  const token = await rest.at('POST', 'workers/crawler/secrets', { type: 'token' });
  t.match(token.json.value, /^wkt_acme_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  const lists = [
    await rest.at('GET', 'workers/mailer/secrets'),
    await rest.at('GET', 'workers/crawler/secrets'),
  ];
  const everything = JSON.stringify([lists, rest.logger.lines]);
  for (const value of [made.json.value, given, 'hush hush', token.json.value]) {
    t.notOk(everything.includes(value));
  }
  t.equal(lists[0].json.data.length, 3);
  t.notOk('value' in lists[0].json.data[0]);
  t.match(lists[0].json.data[0], { type: 'header', name: 'x-api-key', state: 'active' });
});

withMailer('each field has its bounds, and the answer does not repeat the value', async ({ rest }, t) => {
  const base64 = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
  const cases: readonly (readonly [fields: object, pointer: string, detail: RegExp])[] = [
    [{ type: 'password' }, '/type', /signing/],
    [{ name: '' }, '/name', /must not be empty/],
    [{ name: 'x'.repeat(65) }, '/name', /at most 64/],
    [{ value: base64(23) }, '/value', /24 to 64 bytes/],
    [{ value: base64(65) }, '/value', /24 to 64 bytes/],
    [{ value: `sk_${base64(32)}` }, '/value', /whsec_/],
    [{ value: `${base64(32)}!!` }, '/value', /base64/],
    [{ type: 'token', value: 'hush' }, '/value', /the service generates it/],
    [{ type: 'header', name: 'X-Key' }, '/value', /required/],
    [{ type: 'header', value: 'hush' }, '/name', /required/],
    [{ type: 'header', name: 'Host', value: 'hush' }, '/name', /connection/],
    [{ type: 'header', name: 'webhook-id', value: 'hush' }, '/name', /webhook-/],
    [{ type: 'header', name: 'X-Key', value: 'hush\r\nx: y' }, '/value', /line break/],
    [{ type: 'header', name: 'X-Key', value: 'x'.repeat(4097) }, '/value', /at most 4096/],
    [{ expire_previous_in: '8d' }, '/expire_previous_in', /from 0s to 7d/],
    [{ expires_at: 'never' }, '/expires_at', /is not a known field/],
  ];
  for (const [fields, pointer, detail] of cases) {
    const { status, json } = await add(rest, fields);
    t.equal(status, 422, JSON.stringify(fields));
    t.match(json.errors[0], { pointer, detail }, JSON.stringify(fields));
    t.notMatch(JSON.stringify(json), 'hush');
  }
  for (const bytes of [24, 64]) t.equal((await add(rest, { value: base64(bytes) })).status, 201);
});

withMailer('a new secret gives the older ones of its type and name a term', async ({ rest }, t) => {
  const states = async () => {
    const json = await rest.read('workers/mailer/secrets?order=asc');
    return json.data.map((secret: { state: string; expires_at: string | null }) => [
      secret.state,
      secret.expires_at,
    ]);
  };
  await add(rest, {});
  await add(rest, { name: 'other' });
  await add(rest, {});
  const day = iso(HARNESS_START_MS + 24 * HOUR_MS);
  t.same(await states(), [
    ['expiring', day],
    ['active', null],
    ['active', null],
  ]);
  rest.clock.advance(HOUR_MS);
  await add(rest, { expire_previous_in: '1h' });
  const soon = iso(HARNESS_START_MS + 2 * HOUR_MS);
  t.same(
    await states(),
    [
      ['expiring', soon],
      ['active', null],
      ['expiring', soon],
      ['active', null],
    ],
    'a term gets shorter, not longer',
  );
  await add(rest, { expire_previous_in: 0 });
  const now = iso(HARNESS_START_MS + HOUR_MS);
  t.same(await states(), [
    ['expired', now],
    ['active', null],
    ['expired', now],
    ['expired', now],
    ['active', null],
  ]);
  rest.clock.advance(8 * 24 * HOUR_MS);
  await add(rest, { name: 'third' });
  t.equal((await states()).length, 3, 'what expired a week ago is gone');
});

withMailer('five live signing secrets sign, and there is no room for a sixth', async ({ rest }, t) => {
  for (const name of ['a', 'b', 'c', 'd']) t.equal((await add(rest, { name })).status, 201);
  const fifth = await add(rest, { name: 'a' });
  t.equal(fifth.status, 201, 'the older one is live for another day');
  const sixth = await add(rest, { name: 'e' });
  t.match(sixth, problem('quota_exceeded', { limit: 'signing_secrets', max: 5 }));
  t.equal(
    (await add(rest, { type: 'header', name: 'x-key', value: 'v' })).status,
    201,
    'others do not count',
  );
  t.equal((await rest.at('DELETE', `workers/mailer/secrets/${fifth.json.id}`)).status, 204);
  t.equal((await add(rest, { name: 'e' })).status, 201);
  t.equal(
    (await add(rest, { name: 'b', expire_previous_in: 0 })).status,
    201,
    'it takes the place of the older one',
  );
});

test('a deleted secret is unusable at once', async (rest, t) => {
  await rest.pullWorker();
  const { id, value } = await rest.made('workers/crawler/secrets', { type: 'token' });
  t.equal((await rest.at('POST', 'workers/crawler/leases', {}, { token: value })).status, 200);
  rest.told.length = 0;
  t.equal((await rest.at('DELETE', `workers/crawler/secrets/${id}`)).status, 204);
  t.match(rest.told, [['workerChanged', 'acme', /^wrk_/]]);
  t.match(await rest.at('POST', 'workers/crawler/leases', {}, { token: value }), { status: 401 });
  await rest.pushWorker();
  const other = await rest.made('workers/mailer/secrets', {});
  for (const path of [id, 'x', `${other.id}`]) {
    t.match(
      await rest.at('DELETE', `workers/crawler/secrets/${path}`),
      problem('not_found', { detail: /The worker has no secret/ }),
      path,
    );
  }
});

test('a token that is followed by another is good until its term', async (rest, t) => {
  await rest.pullWorker();
  const old = await rest.made('workers/crawler/secrets', { type: 'token' });
  const young = await rest.made('workers/crawler/secrets', { type: 'token', expire_previous_in: '1h' });
  const lease = (token: string) => rest.at('POST', 'workers/crawler/leases', {}, { token });
  t.equal((await lease(old.value)).status, 200);
  t.equal((await lease(young.value)).status, 200);
  rest.clock.advance(HOUR_MS);
  t.match(await lease(old.value), problem('token_expired'));
  t.equal((await lease(young.value)).status, 200);
});

withMailer('two first secrets at once use one key of the tenant', async ({ rest, worker }, t) => {
  const made = await Promise.all([
    add(rest, { name: 'a' }),
    add(rest, { name: 'b' }),
    add(rest, { name: 'c' }),
  ]);
  const key = (await dataKey(rest))!;
  for (const { json } of made) {
    const secret = await stored(rest, json.id);
    const belongsTo = { tenant: 'acme', workerId: worker.id, secretId: json.id, type: 'signing' };
    t.equal(rest.sealer.open(secret.sealed!, key, belongsTo), json.value);
  }
  t.match(await dataKey(rest), key);
});

withMailer('secrets that change all the time are refused in the end', async ({ rest }, t) => {
  rest.store.apply = async () => ({ kind: 'refused', index: 0, reason: 'version' });
  t.match(await add(rest, {}), {
    status: 503,
    json: { code: 'store_unavailable', detail: /changing the secrets/ },
  });
});

withMailer('the same request gets its answer again, also without room', async ({ rest }, t) => {
  const headers = { 'idempotency-key': 'k' };
  const first = await add(rest, { name: 'a' }, { headers });
  for (const name of ['b', 'c', 'd', 'e']) await add(rest, { name });
  t.equal((await add(rest, { name: 'a' })).status, 429);
  t.same((await add(rest, { name: 'a' }, { headers })).json, { ...first.json, value: null });
  t.match(await add(rest, { name: 'b' }, { headers }), problem('idempotency_key_reused'));
  t.equal((await rest.read('workers/mailer/secrets')).data.length, 5);
});
