import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testGroups } from './build.mjs';
import { root } from './step.mjs';

const TESTS = 'build/test';

/**
 * Number of files in a group, by the beginning of their names. Files that take long are in smaller groups, which come
 * first, so that no processor is idle at the end of a run.
 */
const GROUP_SIZES = { 'service/': 4, '': 12 };

/**
 * Tests that run in a process of their own, by the beginning of their names: they measure or limit the memory of their
 * process or of its threads, change it in another way, or take longest.
 */
export const ALONE = [
  'simulation/planted-faults',
  'service/task-kills-postgres',
  'service/task-kills-redis',
  'service/task-kills-sqlite',
  'service/live-page-views',
  'unit/tasks/crashes/',
  'service/tasks-readiness',
  'simulation/simulation',
  'service/exactness-redis',
  'service/client-worker',
  'service/console.test',
  'service/tls',
  'unit/app/decision/decision-thread-deaths',
  'unit/app/decision/decision-thread-hangs',
  'unit/app/logging/logging',
  'unit/app/serving/serving-shutdown',
  'unit/app/serving/serving-thread-deaths',
  'unit/decision/old-space',
  'unit/tasks/store/redis-cluster',
  'unit/tasks/store/sqlite/faults',
  'unit/tasks/store/sqlite/thread',
  'unit/launch/without-loaders',
  'wire/abuse/',
  'wire/fuzz',
];

/** Folders of `test/unit` whose tests start servers, threads or programs, or try many random cases. */
const SLOW_UNITS = [
  'app',
  'base/threads',
  'base/tls',
  'bench',
  'counters',
  'decision',
  'launch',
  'ops',
  'quota',
  'rules/parse',
  'tasks/crashes',
  'tasks/delivery',
  'tasks/rest',
  'tasks/scheduler',
  'tasks/store',
  'transports/debug',
  'transports/grpc',
];

/**
 * Tests that only `npm run test:all` runs, by the beginning of their names: they take long, and show faults, attacks,
 * random cases, pages in every state, other people's programs, or through the whole program what unit tests show as well.
 * {@link EVERY_TIME} has the promises that `npm test` must show as well.
 */
export const AT_LENGTH = [
  // Lost, blocked and replaced threads, processes and stores
  'service/engine-thread',
  'service/envoy-quota-fleet',
  'service/operator-processes',
  'service/outages',
  'service/redis-pool',
  'service/refunds',
  'service/rollout',
  'service/serving-reloads',
  'service/several-processes',
  'service/snapshot',
  'service/task-kills-postgres',
  'service/task-kills-redis',
  'service/task-store-faults',
  'service/tasks-move',
  'service/tasks-readiness',
  'service/tasks-revocation',
  'service/tasks-shared-limit',
  'unit/app/decision/decision-thread-deaths',
  'unit/app/decision/decision-thread-hangs',
  'unit/app/serving/serving-thread-deaths',
  'unit/app/stores/serving-cluster',
  'unit/app/stores/serving-sentinel',
  'unit/counters/redis/cluster.test',
  'unit/counters/redis/sentinel.test',
  'unit/quota/stores-cluster',
  'unit/rules/conditions-at-length',
  'unit/steering/redis-records-failover',
  'unit/tasks/crashes/',
  'unit/tasks/store/postgres/connections',
  'unit/tasks/store/postgres/failover',
  'unit/tasks/store/postgres/plans',
  'unit/tasks/store/postgres/pooler',
  'unit/tasks/store/redis-cluster',
  'unit/tasks/store/redis-faults',
  'simulation/planted-faults',
  // Attacks and floods
  'service/tasks-attacks',
  'unit/tasks/store/fair-turns',
  'wire/fuzz',
  // Exactness of every mode, and random or complete sets of cases
  'service/exactness-algorithms',
  'service/exactness-failures',
  'service/exactness-modes',
  'unit/base/calendar/windows-in-all-zones',
  'unit/counters/admission/exact-log',
  'unit/decision/explain/explain-random',
  'unit/quota/desk-shared-budget',
  'unit/quota/simulation-at-length',
  'unit/tasks/model/schedules/cron-in-all-zones',
  'unit/tasks/rest/checks/wrong-types',
  // The whole program with features that unit tests show as well, and with settings that few use
  'service/client-worker',
  'service/decision-log',
  'service/http-engines',
  'service/log-start',
  'service/operator-counters',
  'service/operator-limits',
  'service/operator-status',
  'service/operator-tenants',
  'service/penalties',
  'service/redis-forms',
  'service/rehearsal',
  'service/rest-threads',
  'service/shutdown-delay',
  'service/steering.test',
  'service/tail',
  'service/tasks-api-postgres',
  'service/tasks-postgres',
  'service/tasks-redis',
  'service/tracing',
  'service/trusted-cas',
  'unit/app/stores/mistakes',
  'unit/transports/grpc/grpc-js-server',
  // Programs of others, and other ways to install and start Sluice
  'service/checking-caddy',
  'service/checking-haproxy',
  'service/checking-nginx-failures',
  'service/checking-traefik',
  'service/docs-limit-clients',
  'service/docs-python',
  'service/envoy',
  'service/examples',
  'service/gateways',
  'service/haproxy',
  'service/host-nodes',
  'service/image',
  'service/launcher',
  'service/nginx',
  'service/ops-metrics',
  'service/pm2',
  'service/quota-client',
  'unit/launch/build',
  'unit/launch/install',
  'unit/ops/alerts',
  'wire/interop/other-languages',
  // Pages in every state and width
  'service/console-actors',
  'service/console-life',
  'service/console-new-task',
  'service/docs-pages',
  'service/live-page-controls',
  'service/live-page-quotas',
  'service/live-page-tasks',
  'service/live-page-views',
  'service/ops-dashboard',
];

/** Promises that `npm test` shows although their tests take long: tasks survive kills, counting is exact, input is bounded. */
export const EVERY_TIME = [
  'service/exactness-embedded',
  'service/exactness-redis',
  'service/store-failure',
  'service/task-kills-sqlite',
  'wire/abuse/',
];

/** Names of the built tests that `npm test` runs. */
export function everydayTests() {
  return allTests().filter(name => !AT_LENGTH.some(long => name.startsWith(`${TESTS}/${long}`)));
}

/** Names of all built tests, for `npm run test:all`. */
export function allTests() {
  return testsIn(TESTS);
}

/** Names of the built unit tests without {@link SLOW_UNITS}, for `npm run test:unit`. */
export function fastUnitTests() {
  const units = `${TESTS}/unit`;
  return testsIn(units).filter(name => !SLOW_UNITS.some(slow => name.startsWith(`${units}/${slow}/`)));
}

function testsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(name => name.endsWith('.test.js'))
    .sort();
}

/**
 * Divides test files into groups that share a process, because the start of a process takes longer than many of the
 * files. Files that run alone are a group each. Returns the files of each group by the name of its entry, which tap runs.
 */
export function planOf(files) {
  const place = file => ALONE.findIndex(name => file.startsWith(`${TESTS}/${name}`));
  const alone = files.filter(file => place(file) >= 0).sort((a, b) => place(a) - place(b));
  const groups = alone.map(file => [file]);
  let others = files.filter(file => place(file) < 0);
  for (const [beginning, size] of Object.entries(GROUP_SIZES)) {
    const isNext = file => file.startsWith(`${TESTS}/${beginning}`);
    const next = others.filter(isNext);
    others = others.filter(file => !isNext(file));
    for (let first = 0; first < next.length; first += size) groups.push(next.slice(first, first + size));
  }
  mkdirSync(join(root, testGroups), { recursive: true });
  return new Map(groups.map((group, at) => [writeEntry(group, at), group]));
}

/**
 * Writes the entry of a group. Its name begins with its place, because tap runs files in the order of their names, and
 * ends with a digest, so that runs at the same time do not change entries of each other.
 */
function writeEntry(group, at) {
  const names = JSON.stringify(group, null, 2);
  const digest = createHash('sha256').update(names).digest('hex').slice(0, 12);
  const entry = `${testGroups}/${String(at).padStart(4, '0')}-${digest}.test.js`;
  const runner = '../../ops/launch/test-group.mjs';
  writeFileSync(join(root, entry), `import { runGroup } from '${runner}';\nawait runGroup(${names});\n`);
  return entry;
}
