// Runs the built tests. bootstrap.mjs has prepared what they need.
//   npm test                         checks style, then runs the tests that do not take long
//   npm run test:all                 also runs those that take long: faults, attacks, random cases, other people's programs
//   npm test -- FILE…                runs some files, named by their sources; flags are for tap
//   npm run test:unit                runs the unit tests that need no servers
//   npm run test:watch -- FILE…      compiles and runs them again whenever a source changes
import { checkStyle } from './check-style.mjs';
import { builtName, runTests } from './run-tests.mjs';
import { attempt, StepFailure } from './step.mjs';
import { allTests, everydayTests, fastUnitTests, planOf } from './test-plan.mjs';
import { watchTests } from './watch-tests.mjs';

await attempt(async () => {
  const [mode, ...named] = process.argv.slice(2);
  if (mode === '--unit') return runPlan(fastUnitTests(), named.map(builtName));
  if (mode === '--watch') {
    if (named.length > 0) return watchTests(named.map(builtName));
    throw new StepFailure(
      'Name the test files to watch: npm run test:watch -- test/unit/base/backoff.test.ts',
    );
  }
  const isAll = mode === '--all';
  if (mode !== undefined && !isAll) return runTests([mode, ...named].map(builtName));
  await checkStyle();
  await runPlan(isAll ? allTests() : everydayTests());
});

function runPlan(files, args = []) {
  const groups = planOf(files);
  return runTests([...groups.keys(), ...args], groups);
}
