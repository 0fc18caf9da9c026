import t from 'tap';
import {
  postgresAddressFault,
  postgresAsksForTls,
  readPostgresAddress,
} from '../../../../src/settings/kinds/postgres-address.ts';

t.test('an address has a user, hosts and a database', async t => {
  t.same(readPostgresAddress('postgres://app:pa%40ss%2Fword@db:6432/tasks'), {
    shown: 'db:6432/tasks',
    hosts: [{ host: 'db', port: 6_432 }],
    user: 'app',
    password: 'pa@ss/word',
    database: 'tasks',
    tls: false,
  });
});

t.test('the port, the password and the database may be left out', async t => {
  t.match(readPostgresAddress('postgresql://app@db'), {
    hosts: [{ host: 'db', port: 5_432 }],
    password: '',
    database: 'app',
  });
});

t.test('several hosts, IPv6 addresses and unix sockets can be given', async t => {
  t.match(readPostgresAddress('postgres://app@one,two:5433/tasks').hosts, [
    { host: 'one', port: 5_432 },
    { host: 'two', port: 5_433 },
  ]);
  t.match(readPostgresAddress('postgres://app@[::1]:1/tasks'), {
    shown: '[::1]:1/tasks',
    hosts: [{ host: '::1', port: 1 }],
  });
  t.match(readPostgresAddress('postgres://app@%2Frun%2Fpostgresql/tasks').hosts, [
    { host: '/run/postgresql' },
  ]);
});

t.test('sslmode asks for TLS', async t => {
  for (const [mode, asks] of [
    ['require', true],
    ['verify-ca', true],
    ['verify-full', true],
    ['prefer', false],
    ['disable', false],
  ] as const) {
    t.equal(postgresAsksForTls(`postgres://app@db/tasks?sslmode=${mode}`), asks, mode);
  }
  t.equal(postgresAsksForTls('no address'), false);
});

t.test('what is wrong with an address is said without the address', async t => {
  const faults: Readonly<Record<string, RegExp>> = {
    'db:5432': /it is not a postgres:\/\/ address/,
    'redis://app:hunter2@db': /it is not a postgres:\/\/ address/,
    'postgres://db/tasks': /the user is missing/,
    'postgres://app:hunter2@/tasks': /a host is missing or invalid/,
    'postgres://app:hunter2@db:0/tasks': /a port is not between 1 and 65535/,
    'postgres://app:hunter2@db:65536/tasks': /a port is not between 1 and 65535/,
    'postgres://app:hunter2@[db]/tasks': /an address in brackets is not IPv6/,
    'postgres://app:hunter2%zz@db/tasks': /a `%` in it begins no escape/,
    'postgres://app:hunter2@db/tasks?sslmode=on': /its sslmode must be one of disable, allow/,
    'postgres://app:hunter2@db/tasks?options=-c': /it has parameters other than sslmode/,
    [`postgres://app:hunter2@${Array(17).fill('db').join(',')}/tasks`]: /it has more than 16 hosts/,
  };
  for (const [address, problem] of Object.entries(faults)) {
    const fault = postgresAddressFault(address) ?? '';
    t.match(fault, problem, address);
    t.notMatch(fault, /hunter2/);
  }
});
