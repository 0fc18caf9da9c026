import t from 'tap';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { startRedis } from '../../../../support/redis-server.ts';
import { harnessStores } from '../../../../support/tasks/harness-stores.ts';
import { TASK_SERVER_ARGS } from '../../../../support/tasks/redis-backend.ts';
import type { TaskHarness } from '../../../../support/tasks/task-harness.ts';

// Two owners who take each other's access away at the same time, over each store.

const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());
const postgres = noPostgres === false ? await postgresFor(t) : null;

const ROUNDS = 5;

interface Owner {
  readonly id: string;
  readonly token: string;
  readonly tokenId: string;
}

type Removal = (rest: TaskHarness, by: Owner, of: Owner) => Promise<{ readonly status: number }>;

/** What takes access away from an owner. */
const REMOVALS: Readonly<Record<string, Removal>> = {
  'delete each other': (rest, { token }, { id }) => rest.at('DELETE', `users/${id}`, undefined, { token }),
  'disable each other': (rest, { token }, { id }) =>
    rest.at('PUT', `users/${id}`, { status: 'disabled' }, { token }),
  'make each other members': (rest, { token }, { id }) =>
    rest.at('PUT', `users/${id}`, { role: 'member' }, { token }),
  "delete each other's token": (rest, { token }, { id, tokenId }) =>
    rest.at('DELETE', `users/${id}/tokens/${tokenId}`, undefined, { token }),
  'delete their own token': (rest, _, { id, token, tokenId }) =>
    rest.at('DELETE', `users/${id}/tokens/${tokenId}`, undefined, { token }),
};

async function addOwner(rest: TaskHarness, email: string): Promise<Owner> {
  const { id } = await rest.made('users', { email, role: 'owner', status: 'active' });
  const made = await rest.made(`users/${id}/tokens`, {});
  return { id, token: made.token, tokenId: made.id };
}

/** The first owner, with the one token of the account. */
async function firstOwner(rest: TaskHarness): Promise<Owner> {
  const [{ id }] = (await rest.read('users')).data;
  const [{ id: tokenId }] = (await rest.read(`users/${id}/tokens`)).data;
  return { id, token: rest.token, tokenId };
}

for (const [name, open] of Object.entries(harnessStores(server, postgres))) {
  for (const [what, remove] of Object.entries(REMOVALS)) {
    t.test(`${name}: of two owners who ${what} at once, one keeps the access`, async t => {
      for (let round = 0; round < ROUNDS; round++) {
        const { rest } = await open(t);
        const [one, other] = [await firstOwner(rest), await addOwner(rest, 'bob@acme.test')];
        // The order in which they arrive is not the one in which they were made.
        const pairs: [Owner, Owner][] = [
          [one, other],
          [other, one],
        ];
        if (round % 2 === 1) pairs.reverse();
        const answers = await Promise.all(pairs.map(([by, of]) => remove(rest, by, of)));
        const statuses = answers.map(({ status }) => status).sort();
        t.ok(statuses[0] < 300, `one succeeds: ${statuses}`);
        // The other is refused, or is known no more because it came later.
        t.ok(
          statuses[1] === 409 || statuses[1] === 401 || statuses[1] === 403,
          `the other does not: ${statuses}`,
        );
        const access = await Promise.all(
          [one, other].map(({ token }) => rest.at('GET', 'users', undefined, { token })),
        );
        const owners = access.filter(({ status }) => status === 200);
        t.ok(owners.length >= 1, 'an owner can still manage users');
        const account = await rest.store.getDocument('acme', 'account', 'account');
        t.equal(account?.body.owners, what.includes('token') ? 2 : 1);
      }
    });
  }

  t.test(`${name}: the last token of an owner stays, however many ask at once`, async t => {
    const { rest } = await open(t);
    const owner = await firstOwner(rest);
    const ids = [owner.tokenId];
    for (let i = 0; i < 4; i++) ids.push((await rest.made(`users/${owner.id}/tokens`, {})).id);
    const answers = await Promise.all(
      ids.map(id => rest.at('DELETE', `users/${owner.id}/tokens/${id}`, undefined, { token: owner.token })),
    );
    t.ok(
      answers.every(({ status }) => [204, 401, 409].includes(status)),
      answers.map(({ status }) => status).join(),
    );
    const left = await rest.store.countDocuments('acme', 'token');
    t.ok(left >= 1, `${left} tokens are left`);
  });
}
