import t from 'tap';
import { TwoTenants } from '../../../../support/tasks/two-tenants.ts';

t.test('a caller reads who it is and what it may do', async t => {
  const tenants = await TwoTenants.open();
  const { rest, mine } = tenants;
  const owner = await tenants.ask('GET', '/v1/me', { token: mine.token });
  t.match(owner, {
    status: 200,
    json: { account: { status: 'active' }, role: 'owner', scopes: null, token: { id: /^tok_/ } },
  });
  const { token, id } = await rest.addUser(mine.token, 'viewer', ['tasks:read', 'workers:read']);
  const viewer = await tenants.ask('GET', '/v1/me', { token });
  t.match(viewer.json, { role: 'viewer', user: { id }, scopes: ['tasks:read', 'workers:read'] });
  t.notOk(viewer.body.includes(token), 'the token itself is not repeated');
});
