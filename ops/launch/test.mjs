// Runs the built tests. bootstrap.mjs has prepared what they need.
//   npm test                         checks style, then runs everything
//   npm test -- FILE…                runs some files, named by their sources
//   npm run test:watch -- FILE…      compiles and runs them again whenever a source changes
import { checkStyle } from './check-style.mjs';
import { builtName, runTests } from './run-tests.mjs';
import { attempt, StepFailure } from './step.mjs';
import { watchTests } from './watch-tests.mjs';

await attempt(async () => {
  const watch = process.argv.includes('--watch');
  const files = process.argv
    .slice(2)
    .filter(argument => argument !== '--watch')
    .map(builtName);
  if (watch && files.length === 0)
    throw new StepFailure(
      'Name the test files to watch: npm run test:watch -- test/unit/base/backoff.test.ts',
    );
  if (watch) return watchTests(files);
  if (files.length === 0) await checkStyle();
  await runTests(files);
});
