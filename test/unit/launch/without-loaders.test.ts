import { spawnSync } from 'node:child_process';
import t from 'tap';

const UNDER_RUNNER = process.env['TAP_CHILD_ID'] !== undefined;

t.test(
  'a program of a test runs as one of a user: nothing preloaded, no handler of signals',
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
