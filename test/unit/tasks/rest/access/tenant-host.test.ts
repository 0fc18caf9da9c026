import t from 'tap';
import { newToken, tokenHash } from '../../../../../src/tasks/rest/access/api-token.ts';
import { placeOf } from '../../../../../src/tasks/rest/access/tenant-host.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

const CONFIG = { serviceHost: 'tasks.test', tenantHeader: false, jwt: { tenantClaim: '' } };
const FORTY = `a${'-b'.repeat(19)}c`;
/** Hosts that name no tenant. */
const PLAIN = [
  'tasks.test',
  'localhost',
  '127.0.0.1',
  '[::1]',
  '',
  'sluice',
  'acme.tasks.tests',
  'xtasks.test',
  'acme.localhost',
];
/** Hosts below the service's that can be no tenant's. */
const BELOW = [
  '.tasks.test',
  '-.tasks.test',
  'acme.acme.tasks.test',
  'acme .tasks.test',
  'acme%2etasks.test.tasks.test',
];

const tokenOf = (domain: string, prefix: 'tk' | 'wkt' = 'tk') =>
  newToken(prefix, domain, count => Buffer.alloc(count, 9));

/** What is named by a host, by the text of a token, and by `X-Tenant-Domain`. */
function place(host: string, token?: string, header?: string, config = CONFIG) {
  const named = placeOf(
    {
      host,
      path: '/api/v1/tasks',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(header !== undefined && { 'x-tenant-domain': header }),
      },
    },
    config,
  );
  return named.kind === 'tenant' ? named.tenant : named.kind;
}

t.test('a token names its tenant at hosts that name none', async t => {
  for (const host of PLAIN) {
    for (const domain of ['acme', 'a-longer-domain', FORTY]) {
      t.equal(place(host, tokenOf(domain)), domain, host);
      t.equal(place(host, tokenOf(domain, 'wkt')), domain, `${host}, of a worker`);
    }
    t.equal(place(host), 'unknown', host);
    for (const token of [
      '',
      'garbage',
      'tk_acme_short_000000',
      tokenOf('-'),
      tokenOf('a--b'),
      tokenOf(`${FORTY}d`),
    ]) {
      t.equal(place(host, token), 'unknown', `${host} ${token}`);
    }
  }
});

t.test('a host or a header that names a tenant comes before the token', async t => {
  const named = { ...CONFIG, tenantHeader: true };
  t.equal(place('beta.tasks.test', tokenOf('acme')), 'beta');
  t.equal(place('accounts.tasks.test', tokenOf('acme')), 'accounts');
  for (const host of BELOW) t.equal(place(host, tokenOf('acme')), 'unknown', host);
  for (const host of [...PLAIN, ...BELOW, 'beta.tasks.test']) {
    t.equal(place(host, tokenOf('acme'), 'Gamma', named), 'gamma', host);
    t.equal(place(host, tokenOf('acme'), 'no domain', named), 'unknown', host);
  }
  t.equal(place('tasks.test', tokenOf('acme'), 'gamma'), 'acme', 'the header is not enabled');
  t.equal(place('tasks.test', tokenOf('acme'), undefined, named), 'acme', 'no header');
});

t.test('accounts are managed on the host of the service, whatever the token', async t => {
  for (const [path, kind] of [
    ['/accounts', 'service'],
    ['/accounts/acme', 'service'],
    ['/accountsx', 'tenant'],
  ]) {
    const head = { host: 'tasks.test', path, headers: { authorization: `Bearer ${tokenOf('acme')}` } };
    t.equal(placeOf(head, CONFIG).kind, kind, path);
  }
});

t.test('calls at a plain host are those of the tenant, and are counted for it', async t => {
  const rest = new TaskHarness();
  const { token, ownerId } = await rest.signUp('a-longer-domain');
  const host = '127.0.0.1';
  const worker = await rest.made('workers', { name: 'puller' }, { token, host });
  const secret = await rest.made(`workers/${worker.id}/secrets`, { type: 'token' }, { token, host });
  const leases = await rest.at('POST', 'workers/puller/leases', {}, { token: secret.value, host });
  t.match(leases, { status: 200, json: { leases: [] } }, 'the token of a worker, too');
  const own = await rest.at('GET', 'workers/puller', undefined, {
    token,
    host: 'a-longer-domain.tasks.test',
  });
  t.equal(own.json.id, worker.id, 'and the same is at the host of the tenant');
  rest.limits.calls.length = 0;
  await rest.at('GET', 'workers', undefined, { token, host });
  t.same(rest.limits.calls, [{ tenant: 'a-longer-domain', kind: 'read', user: ownerId }]);
});

t.test('at a plain host, a forged token is not valid, and one of no tenant finds none', async t => {
  const rest = new TaskHarness();
  const { token } = await rest.signUp('acme');
  const ask = (forged: string) => rest.at('GET', 'tasks', undefined, { token: forged, host: 'localhost' });
  t.equal((await ask(token)).status, 200);
  t.match(await ask(tokenOf('acme')), problem('invalid_token'));
  t.match(await ask(tokenOf('nobody')), problem('tenant_not_found'));
  const changed = `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`;
  t.match(await ask(changed), problem('invalid_token'));
});

t.test('a token of an earlier version is for the host of its tenant', async t => {
  const rest = new TaskHarness();
  await rest.signUp('acme-inc');
  const host = 'acme-incorporated.tasks.test';
  const { token, ownerId } = await rest.signUp('acme-incorporated');
  const early = tokenOf('acme-inc');
  const made = await rest.made(`users/${ownerId}/tokens`, {}, { token, host });
  await rest.change('acme-incorporated', 'token', made.id, body => body, [`hash:${tokenHash(early)}`]);
  t.equal((await rest.at('GET', 'tasks', undefined, { token: early, host })).status, 200);
  const answer = await rest.at('GET', 'tasks', undefined, { token: early, host: 'localhost' });
  t.match(answer, problem('invalid_token'), 'and never for another tenant');
});

t.test('the 404 names all ways', async t => {
  const detail = async (tenantHeader: boolean) => {
    const rest = new TaskHarness({ tenantHeader });
    return (await rest.read('tasks', { host: 'localhost' })).detail;
  };
  const start = 'The request does not name an existing tenant. Use the host {domain}.tasks.test, ';
  const end =
    'or a valid token of the tenant at a host that does not name a tenant (tasks.test, an IP address).';
  t.equal(await detail(false), start + end);
  t.equal(await detail(true), `${start}the header X-Tenant-Domain, ${end}`);
});
