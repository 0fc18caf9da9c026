import { spawnSync } from 'node:child_process';
import t from 'tap';

const UNDER_RUNNER = process.env['TAP_CHILD_ID'] !== undefined;

t.test(
  'a program that a test starts runs as one that a user starts: nothing is preloaded, no signal has a handler',
  { skip: UNDER_RUNNER ? false : 'only the test runner preloads modules: npm test' },
  async t => {
    const script =
      'console.log(JSON.stringify([process.execArgv, process.env.NODE_OPTIONS, process.eventNames()]))';
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    const [execArgv, nodeOptions, events] = JSON.parse(stdout);
    t.same({ execArgv, nodeOptions }, { execArgv: ['-e', script], nodeOptions: null });
    t.same(
      events.filter((name: string) => name.startsWith('SIG')),
      [],
    );
  },
);
