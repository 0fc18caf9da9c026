// Makes a fresh clone ready to start, or with --for-tests ready to test, on a machine that has nothing but
// Node.js 20 or newer and npm. npm runs it before `npm start` and `npm test`; when all is ready it only looks.
import { prepare } from './prepare.mjs';
import { attempt, StepFailure } from './step.mjs';

const OLDEST_HOST = 20;

await attempt(async () => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_HOST) {
    throw new StepFailure(
      `This is Node.js ${process.version}. Install ${OLDEST_HOST} or newer and try again.`,
    );
  }
  await prepare(process.argv.includes('--for-tests') ? 'tests' : 'serving');
});
