// Makes a fresh clone ready to start, or with --for-tests ready to test, on a machine that has nothing but
// Node.js 20 or newer and npm. npm runs it before `npm start` and `npm test`; when all is ready it only looks.
import { buildSources } from './build.mjs';
import { bringEnvoy } from './envoy.mjs';
import { installPackages, installPm2 } from './packages.mjs';
import { bringServers } from './servers.mjs';
import { attempt, StepFailure } from './step.mjs';
import { prepareTestRunner } from './test-runner.mjs';

const OLDEST_HOST = 20;

await attempt(() => {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_HOST) {
    throw new StepFailure(
      `This is Node.js ${process.version}. Install ${OLDEST_HOST} or newer and try again.`,
    );
  }
  const forTests = process.argv.includes('--for-tests');
  installPackages();
  buildSources(forTests ? 'tests' : 'serving');
  if (forTests) {
    prepareTestRunner();
    installPm2();
    bringServers();
    bringEnvoy();
  }
});
