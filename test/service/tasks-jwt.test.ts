import t from 'tap';
import { AUDIENCE, IdentityProvider, ISSUER } from '../support/tasks/identity-provider.ts';
import { ask, newTenant, startTasksService } from '../support/tasks/tasks-service.ts';

t.test('users log in with JSON Web Tokens of an identity provider', async t => {
  const provider = await IdentityProvider.open(t);
  const key = await provider.addKey('RS256');
  const service = await startTasksService(t, {
    TASKS_JWT_ISSUER: ISSUER,
    TASKS_JWT_AUDIENCE: AUDIENCE,
    TASKS_JWT_JWKS_URL: provider.url,
    TASKS_JWT_TENANT_CLAIM: 'org',
    TASKS_JWT_ROLE_CLAIM: 'role',
    TASKS_JWT_AUTO_PROVISION: 'true',
    TASKS_JWT_DEFAULT_ROLE: 'viewer',
    TASKS_REST_THREADS: '2',
  });
  const tenant = await newTenant(service, 'acme');
  await tenant.make('workers', { name: 'puller' });
  t.equal(provider.downloads, 0, 'keys are downloaded for the first login');
  const token = await provider.token(key, { org: 'acme', role: 'member' });
  const as = (jwt: string, host = 'localhost') => ({ host, authorization: `Bearer ${jwt}` });
  const create = (headers: Record<string, string>) =>
    ask(service.http, 'POST /api/v1/tasks', { headers, body: { worker: 'puller' } });

  t.match(await create(as(token)), { status: 201, json: { worker: 'puller' } }, 'the token names the tenant');
  t.match(await create(as(token, 'acme.localhost')), { status: 201 });
  t.match(await create(as(token, 'other.localhost')), { status: 404, json: { code: 'tenant_not_found' } });
  const viewer = await provider.token(key, { org: 'acme' });
  t.match(await create(as(viewer)), { status: 403, json: { code: 'insufficient_role' } }, 'the default role');
  const expired = await provider.token(key, { org: 'acme', exp: 1 });
  t.match(await create(as(expired)), { status: 401, json: { code: 'token_expired' } });
  t.equal(provider.downloads, 1, 'all calls of a tenant go to one thread');

  const { json } = await tenant.ask('GET /users');
  const ann = JSON.stringify(json).match(/"id":"(usr_\w{26})"[^{}]*"external_id":"ann"/)?.[1];
  t.ok(ann, 'the first login has created the user');
  const poll = ask(service.http, 'POST /api/v1/workers/puller/leases', {
    headers: as(await provider.token(key, { org: 'acme', role: 'member', jti: 'poll' })),
    body: { max: 2 },
  });
  t.match((await poll).json.leases, { length: 2 });
  await tenant.ask(`PUT /users/${ann}`, { status: 'disabled' });
  t.match(await create(as(token)), { status: 401, json: { code: 'invalid_token' } }, 'locked out at once');

  for (const secret of [token, viewer, expired]) t.notOk(service.output.includes(secret.split('.')[2]));
});
