import { MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import { anyText, checkedText, duration, file, flag, integer, oneOf, path, setting } from '../kinds/kinds.ts';

/** Settings of the task service that say where tasks are stored. */
export const taskStore = {
  tasksStore: setting({
    names: ['TASKS_STORE'],
    kind: oneOf('sqlite', 'redis', 'postgres'),
    default: 'sqlite',
    help:
      'Where tasks are stored: in a file on this machine (`sqlite`), or in Redis or PostgreSQL, which ' +
      'several machines can share.',
  }),
  tasksDataDirectory: setting({
    names: ['TASKS_DATA_DIRECTORY'],
    kind: path,
    default: 'data',
    help:
      'Directory of the SQLite database with the tasks. It must be on a local disk, and is created if ' +
      'it does not exist.',
  }),
  tasksSqliteSynchronous: setting({
    names: ['TASKS_SQLITE_SYNCHRONOUS'],
    kind: oneOf('full', 'normal'),
    default: 'full',
    help:
      'When SQLite flushes to disk. With `full`, accepted tasks survive a power failure. `normal` is ' +
      'faster, but a power failure may lose the last moments. A crash of the process loses nothing with ' +
      'either.',
  }),
  tasksRedisUrl: setting({
    names: ['TASKS_REDIS_URL'],
    kind: { ...anyText, trims: 'commas' },
    default: '',
    help:
      'Address of the Redis server (7.0 or later) that stores the tasks. Required for ' +
      '`TASKS_STORE=redis`. Never printed.',
    secret: true,
  }),
  tasksRedisAuthFile: file(
    ['TASKS_REDIS_AUTH_FILE'],
    'File that contains `password` or `user:password` for the Redis server of the tasks, instead of ' +
      'the credentials in `TASKS_REDIS_URL`. It is read again when a connection is lost, so passwords ' +
      'can be rotated without a restart.',
  ),
  tasksRedisType: setting({
    names: ['TASKS_REDIS_TYPE'],
    kind: oneOf('single', 'cluster'),
    default: 'single',
    help:
      'Type of the Redis deployment that stores the tasks: one server, or a cluster. All keys of a ' +
      'tenant are on the same node.',
  }),
  tasksRedisTls: flag(
    ['TASKS_REDIS_TLS'],
    'Connect to the Redis server of the tasks over TLS (1.2 or 1.3). An address that begins with `rediss://` ' +
      'enables it as well.',
  ),
  tasksRedisTlsCaCert: file(
    ['TASKS_REDIS_TLS_CACERT'],
    'PEM file with CA certificates to verify the Redis server of the tasks with, in addition to those ' +
      'of the system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
  ),
  tasksRedisTimeoutMs: setting({
    names: ['TASKS_REDIS_TIMEOUT'],
    kind: duration({ min: 100, max: MINUTE_MS, strict: 'min' }),
    default: 5 * SECOND_MS,
    help: 'Timeout for connecting to the Redis server of the tasks, and for the response to a command.',
  }),
  tasksRedisDurability: setting({
    names: ['TASKS_REDIS_DURABILITY'],
    kind: oneOf('everysec', 'always'),
    default: 'everysec',
    help:
      'Required value of `appendfsync` of the Redis server of the tasks, which is checked at startup. ' +
      'With `everysec`, a power failure may lose the last two seconds.',
  }),
  tasksRedisKeyPrefix: setting({
    names: ['TASKS_REDIS_KEY_PREFIX'],
    kind: checkedText({
      label: 'text',
      accepts: 'up to 64 letters, digits and .:_-',
      holds: text => /^[A-Za-z0-9.:_-]{0,64}$/.test(text),
    }),
    default: 'sluice:',
    help: 'Prefix of every Redis key of the task service.',
  }),
  tasksPostgresUrl: setting({
    names: ['TASKS_POSTGRES_URL'],
    kind: anyText,
    default: '',
    help:
      'Address of the PostgreSQL database (14 or later) that stores the tasks: ' +
      '`postgres://user:password@host:5432/database`. Several hosts, separated by commas, are tried in ' +
      'turn for one that accepts writes. Required for `TASKS_STORE=postgres`. Never printed.',
    secret: true,
  }),
  tasksPostgresPasswordFile: file(
    ['TASKS_POSTGRES_PASSWORD_FILE'],
    'File that contains the password for PostgreSQL, instead of the one in `TASKS_POSTGRES_URL`. It is ' +
      'read for each connection, so the password can be rotated without a restart.',
  ),
  tasksPostgresTls: flag(
    ['TASKS_POSTGRES_TLS'],
    'Connect to PostgreSQL over TLS (1.2 or 1.3), and verify its certificate. An address with ' +
      '`sslmode=require`, `verify-ca` or `verify-full` enables it as well.',
  ),
  tasksPostgresTlsCaCert: file(
    ['TASKS_POSTGRES_TLS_CACERT'],
    'PEM file with CA certificates to verify PostgreSQL with, in addition to those of the system, of ' +
      'Node.js and of `NODE_EXTRA_CA_CERTS`.',
  ),
  tasksPostgresConnections: setting({
    names: ['TASKS_POSTGRES_CONNECTIONS'],
    kind: integer({ min: 2, max: 100, strict: 'min' }),
    default: 5,
    help:
      'Maximum number of connections to PostgreSQL of each thread that uses it: the primary thread, ' +
      'the engine thread, and the REST threads (`TASKS_REST_THREADS`).',
  }),
  tasksPostgresTimeoutMs: setting({
    names: ['TASKS_POSTGRES_TIMEOUT'],
    kind: duration({ min: 100, max: MINUTE_MS, strict: 'min' }),
    default: 5 * SECOND_MS,
    help:
      'Timeout for connecting to PostgreSQL, and for an operation, including the wait for a connection. ' +
      'A statement that takes longer is canceled.',
  }),
  tasksPostgresSynchronousCommit: setting({
    names: ['TASKS_POSTGRES_SYNCHRONOUS_COMMIT'],
    kind: oneOf('server', 'on', 'off', 'local', 'remote_write', 'remote_apply'),
    default: 'server',
    help:
      '`synchronous_commit` of what Sluice writes to PostgreSQL; `server` leaves it as the server is set. ' +
      'With `off`, operations are faster, but a crash of the server loses the last moments.',
  }),
} as const;
