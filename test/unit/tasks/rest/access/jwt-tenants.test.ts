import t from 'tap';
import { JwtScene } from '../../../../support/tasks/jwt-scene.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';

const RULES = { tenantClaim: 'org' };

t.test('without a claim for the tenant, the host names it, and the user must be one of it', async t => {
  const scene = await JwtScene.open(t);
  await scene.rest.signUp('globex');
  const token = await scene.provider.token(scene.key, { org: 'acme' });
  t.equal((await scene.ask(token)).status, 200);
  t.match(await scene.ask(token, { host: 'globex.tasks.test' }), problem('invalid_token'));
  t.match(await scene.ask(token, { host: 'localhost' }), problem('tenant_not_found'));
});

t.test('a claim for the tenant names it at hosts that name none, and must be that of the host', async t => {
  const scene = await JwtScene.open(t, { rules: RULES });
  const { rest, provider, key } = scene;
  const { token: owner } = await rest.signUp('globex');
  const user = { token: owner, host: 'globex.tasks.test', body: { email: 'ann@x.test', external_id: 'ann' } };
  t.equal((await rest.ask('POST', '/api/v1/users', user)).status, 201);
  const token = await provider.token(key, { org: 'acme' });
  t.equal((await scene.ask(token)).status, 200);
  for (const host of ['localhost', '127.0.0.1', 'tasks.test']) {
    t.match(await scene.ask(token, { host }), { status: 200, json: { id: scene.ann } }, host);
  }
  const refused = await scene.ask(token, { host: 'globex.tasks.test' });
  const detail = 'The claim org of the token does not name this account.';
  t.match(refused, problem('invalid_token', { detail }), 'although it has such a user');
  for (const org of [undefined, 'globex', 'ACME', 5, ['acme'], '']) {
    t.match(
      await scene.ask(await provider.token(key, { org })),
      { status: 401, json: { detail } },
      String(org),
    );
  }
  for (const org of [undefined, 'nobody', 'no domain', 5]) {
    const answer = await scene.ask(await provider.token(key, { org }), { host: 'localhost' });
    t.match(answer, problem('tenant_not_found'), String(org));
  }
  const [head, , signature] = token.split('.');
  const claims = Buffer.from('{"org":"acme"}').toString('base64url');
  const forged = await scene.ask(`${head}.${claims}.${signature}`, { host: 'localhost' });
  t.match(forged, problem('invalid_token'));
  for (const text of ['null', '[', '"acme"']) {
    const broken = `${head}.${Buffer.from(text).toString('base64url')}.${signature}`;
    t.match(await scene.ask(broken, { host: 'localhost' }), { status: 404 }, text);
  }
});

t.test('with auto-provisioning, the first login creates the user, once', async t => {
  const jwt = { autoProvision: true, defaultRole: 'viewer' } as const;
  const scene = await JwtScene.open(t, { rules: RULES, jwt });
  const { rest, provider, key, owner } = scene;
  const token = (sub: string) =>
    provider.token(key, { org: 'acme', sub, name: 'Bob\u0007 B.', email: 'ann@acme.test', role: 'owner' });
  const bobs = await token('bob|1');
  const limits = () => rest.ask('GET', '/api/v1/limits', { token: bobs });
  t.same(
    new Set((await Promise.all([limits(), limits(), limits()])).map(({ status }) => status)),
    new Set([200]),
  );
  const { json } = await rest.ask('GET', '/api/v1/users', { token: owner });
  const [users] = Object.values<{ external_id: string }[]>(json).filter(Array.isArray);
  const made = users.filter(({ external_id }) => external_id === 'bob|1');
  t.match(made, [{ name: 'Bob B.', role: 'viewer', status: 'active', email: /^usr_\w{26}@acme\.invalid$/ }]);
  const audit = await rest.ask('GET', '/api/v1/audit', { token: owner });
  t.match(audit.body, '"action":"user.created"');
  await rest.change('acme', 'account', 'account', account => ({ ...account, status: 'suspended' }));
  const carl = await token('carl');
  t.match(await rest.ask('GET', '/api/v1/limits', { token: carl }), { status: 401 }, 'nothing changes in it');
  t.equal((await limits()).status, 200, 'but what is there can be read');
  await rest.change('acme', 'account', 'account', account => ({
    ...account,
    status: 'active',
    limits: { users: 3 },
  }));
  t.match(
    await rest.ask('GET', '/api/v1/limits', { token: carl }),
    problem('quota_exceeded', { limit: 'users', max: 3 }),
  );
});

t.test('a login that is not accepted creates nobody', async t => {
  const scene = await JwtScene.open(t, { rules: RULES, jwt: { autoProvision: true } });
  const { rest, provider, key, owner } = scene;
  await rest.signUp('globex');
  for (const claims of [{ org: 'globex' }, { org: 'acme', exp: 1 }, { org: 'acme', aud: 'other' }, {}]) {
    const token = await provider.token(key, { sub: 'carl', ...claims });
    t.equal((await rest.ask('GET', '/api/v1/limits', { token })).status, 401);
  }
  t.notMatch((await rest.ask('GET', '/api/v1/users', { token: owner })).body, 'carl');
});
