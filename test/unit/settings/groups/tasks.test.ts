import t from 'tap';
import { loadSettings } from '../../../../src/settings/load.ts';
import { refusal } from '../refusal.ts';

const KEY = 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';

t.test('the task service is off unless it is asked for, and then needs one master key', async t => {
  t.equal(loadSettings({}).tasksEnabled, false);
  t.match(refusal({ TASKS_ENABLED: 'true' }), /requires a master key.*SECRETS_MASTER_KEY/s);
  t.match(
    refusal({ TASKS_ENABLED: 'true', SECRETS_MASTER_KEY: KEY, SECRETS_MASTER_KEY_FILE: '/key' }),
    /the master key is given twice/,
  );
  t.equal(loadSettings({ TASKS_ENABLED: 'true', SECRETS_MASTER_KEY: KEY }).secretsMasterKey, KEY);
  t.equal(loadSettings({ TASKS_ENABLED: 'true', SECRETS_MASTER_KEY_FILE: '/key' }).tasksEnabled, true);
});

t.test('an invalid master key is rejected without being shown', async t => {
  for (const variable of ['SECRETS_MASTER_KEY', 'SECRETS_PREVIOUS_MASTER_KEYS']) {
    const text = refusal({ [variable]: 'hunter2' });
    t.match(text, variable);
    t.notMatch(text, /hunter2/);
  }
  t.equal(refusal({ SECRETS_PREVIOUS_MASTER_KEYS: `${KEY},${'ab'.repeat(32)}` }), '');
});

t.test('tasks in Redis need its address', async t => {
  const env = { TASKS_ENABLED: 'true', SECRETS_MASTER_KEY: KEY, TASKS_STORE: 'redis' };
  t.match(refusal(env), /TASKS_REDIS_URL with the address/);
  const text = refusal({ ...env, TASKS_REDIS_URL: 'redis://:hunter2@cache:port' });
  t.match(text, /TASKS_REDIS_URL.*accepted: host:port/s);
  t.notMatch(text, /hunter2/);
  t.match(refusal({ ...env, TASKS_REDIS_URL: 'a:1,b', TASKS_REDIS_TYPE: 'cluster' }), /nodes of the cluster/);
  t.equal(loadSettings({ ...env, TASKS_REDIS_URL: 'redis://:secret@cache:6379/1' }).tasksMaxOpen, 200_000);
});

t.test('tasks in PostgreSQL need its address', async t => {
  const env = { TASKS_ENABLED: 'true', SECRETS_MASTER_KEY: KEY, TASKS_STORE: 'postgres' };
  t.match(refusal(env), /TASKS_POSTGRES_URL with the address/);
  const text = refusal({ ...env, TASKS_POSTGRES_URL: 'postgres://app:hunter2@db:port/tasks' });
  t.match(text, /TASKS_POSTGRES_URL.*accepted: an address such as postgres:\/\/user:password@host/s);
  t.notMatch(text, /hunter2/);
  const url = 'postgres://app:secret@db/tasks?sslmode=verify-full';
  t.match(loadSettings({ ...env, TASKS_POSTGRES_URL: url }), {
    tasksPostgresTls: true,
    tasksMaxOpen: 1_000_000,
  });
});

t.test('an address of PostgreSQL is not ignored because the store is not named', async t => {
  const env = {
    TASKS_ENABLED: 'true',
    SECRETS_MASTER_KEY: KEY,
    TASKS_POSTGRES_URL: 'postgres://app:hunter2@db/tasks',
  };
  const text = refusal(env);
  t.match(text, /would be stored in a file on this machine.*accepted: TASKS_STORE=postgres/s);
  t.notMatch(text, /hunter2/);
  t.equal(refusal({ ...env, TASKS_STORE: 'sqlite' }), '');
});

t.test('invalid networks and ports are rejected', async t => {
  for (const text of ['10.0.0.0', '10.0.0.0/33', 'host/8', '10.0.0.0/8,,', 'fd00::/129', '10.0.0.0/8/8']) {
    t.match(refusal({ TASKS_PUSH_NETWORKS: text }), /networks in CIDR form/, text);
  }
  t.equal(refusal({ TASKS_PUSH_NETWORKS: '127.0.0.0/8,::1/128' }), '');
  for (const text of ['0', '65536', '80,', 'http'])
    t.match(refusal({ TASKS_PUSH_PORTS: text }), /port numbers/, text);
  t.equal(refusal({ TASKS_PUSH_PORTS: '25,587' }), '');
});

t.test('domains of limits are a list without spaces', async t => {
  for (const name of ['TASKS_LIMIT_DOMAINS', 'TASKS_LIMIT_SHARED_DOMAINS']) {
    for (const text of ['edge,', 'edge, api', ','])
      t.match(refusal({ [name]: text }), /without spaces/, text);
    t.equal(refusal({ [name]: 'edge,api.example.com' }), '');
  }
});

t.test('a service host has no port and no capitals', async t => {
  for (const text of ['', 'Example.com', 'example.com:443', '-a.com', 'https://a.com']) {
    t.match(refusal({ SERVICE_HOST: text }), /a host name in lower case/, text);
  }
  t.equal(refusal({ SERVICE_HOST: 'tasks.example.com' }), '');
});

t.test('an operator token that can be guessed is refused without being shown', async t => {
  const text = refusal({ ACCOUNTS_OPERATOR_TOKEN: 'letmein' });
  t.match(text, /at least 16 characters/);
  t.notMatch(text, /letmein/);
});

t.test('an identity provider is described completely, or not at all', async t => {
  const all = {
    TASKS_JWT_ISSUER: 'https://login.example.com/',
    TASKS_JWT_AUDIENCE: 'tasks',
    TASKS_JWT_JWKS_URL: 'https://login.example.com/keys',
  };
  t.equal(refusal(all), '');
  for (const name of Object.keys(all)) {
    t.match(refusal({ ...all, [name]: '' }), /incomplete.*TASKS_JWT_JWKS_URL, or none/s, name);
  }
  const creating = { ...all, TASKS_JWT_AUTO_PROVISION: 'true' };
  t.match(refusal(creating), /no claim of their tokens names the tenant.*TASKS_JWT_TENANT_CLAIM/s);
  t.equal(refusal({ ...creating, TASKS_JWT_TENANT_CLAIM: 'https://example.com/org' }), '');
  t.equal(refusal({ TASKS_JWT_AUTO_PROVISION: 'true' }), '', 'nobody logs in');
  t.match(refusal({ ...all, TASKS_JWT_DEFAULT_ROLE: 'owner' }), /admin, member or viewer/);
});

t.test('keys of the identity provider come over TLS, or from this machine', async t => {
  const refused = (url: string) =>
    refusal({ TASKS_JWT_ISSUER: 'a', TASKS_JWT_AUDIENCE: 'b', TASKS_JWT_JWKS_URL: url });
  for (const url of [
    'http://localhost:1/keys',
    'http://127.0.0.1/',
    'http://[::1]:8/',
    'https://10.0.0.1/k',
  ]) {
    t.equal(refused(url), '', url);
  }
  for (const url of [
    'http://login.example.com/',
    'http://localhost.example.com/',
    'ftp://localhost/',
    'keys',
  ]) {
    t.match(refused(url), /begins with https:/, url);
  }
  const secret = refused('https://me:hunter2@login.example.com/');
  t.match(secret, /without a password/);
  t.notMatch(secret, /hunter2/);
});
