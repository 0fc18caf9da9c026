import t from 'tap';
import { TwoTenants } from '../../../../support/tasks/two-tenants.ts';
import { BODIES, withBody, wrongTypes } from '../../../../support/tasks/wrong-types.ts';

t.test('each route with a body has a case', async t => {
  const { rest } = await TwoTenants.open();
  t.same(
    withBody(rest)
      .map(({ operation }) => operation)
      .sort(),
    Object.keys(BODIES).sort(),
  );
});

wrongTypes(t, 'model', () => TwoTenants.open());
