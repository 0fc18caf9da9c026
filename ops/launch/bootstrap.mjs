// Installs and builds what a fresh clone needs to start, or with --for-tests to run tests, or with --for-all-tests to run
// those at length as well. Requires only Node.js 20 or newer and npm. npm runs it before `npm start` and `npm test`. If
// everything is ready, it changes nothing.
import { prepare } from './prepare.mjs';
import { attempt, StepFailure } from './step.mjs';

const OLDEST_HOST = 20;

await attempt(async () => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_HOST) {
    throw new StepFailure(
      `This is Node.js ${process.version}. Install ${OLDEST_HOST} or newer and try again.`,
    );
  }
  const isFor = what => process.argv.includes(`--for-${what}`);
  await prepare(isFor('all-tests') ? 'all tests' : isFor('tests') ? 'tests' : 'serving');
});
