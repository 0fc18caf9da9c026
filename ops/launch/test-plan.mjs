import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testGroups } from './build.mjs';
import { root } from './step.mjs';

const TESTS = 'build/test';

/** Number of files in a group. */
const GROUP_SIZE = 12;

/**
 * Tests that run in a process of their own, by the beginning of their names: they measure or limit the memory of their
 * process, change it in another way, or take long. Those that take longest come first, so that no processor is idle at
 * the end of a run.
 */
const ALONE = [
  'service/task-kills-redis',
  'service/task-kills-sqlite',
  'service/live-page-views',
  'unit/tasks/crashes/',
  'service/quickstart',
  'service/tasks-readiness',
  'service/',
  'unit/app/',
  'unit/launch/',
  'unit/base/tls/',
  'unit/counters/redis/',
  'unit/decision/old-space',
  'unit/tasks/store/',
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
  'rules/parse',
  'tasks/crashes',
  'tasks/delivery',
  'tasks/rest',
  'tasks/scheduler',
  'tasks/store',
  'transports/debug',
  'transports/grpc',
];

/** Names of all built tests. */
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
 * Divides test files into those that run alone and groups that share a process, because the start of a process takes
 * longer than many of the files. Returns the programs to run, in this order, and the files of those that are groups.
 */
export function planOf(files) {
  const place = file => ALONE.findIndex(name => file.startsWith(`${TESTS}/${name}`));
  const alone = files.filter(file => place(file) >= 0).sort((a, b) => place(a) - place(b));
  const groups = groupsOf(files.filter(file => place(file) < 0));
  return { programs: [...alone, ...groups.keys()], groups };
}

/**
 * Writes an entry for each group. Returns the files of each entry. An entry is named by a digest of its files, so that
 * runs at the same time do not change entries of each other.
 */
function groupsOf(files) {
  mkdirSync(join(root, testGroups), { recursive: true });
  const groups = new Map();
  for (let first = 0; first < files.length; first += GROUP_SIZE) {
    const group = files.slice(first, first + GROUP_SIZE);
    const names = JSON.stringify(group, null, 2);
    const digest = createHash('sha256').update(names).digest('hex').slice(0, 12);
    const entry = `${testGroups}/${digest}.test.js`;
    const runner = '../../ops/launch/test-group.mjs';
    writeFileSync(join(root, entry), `import { runGroup } from '${runner}';\nawait runGroup(${names});\n`);
    groups.set(entry, group);
  }
  return groups;
}
