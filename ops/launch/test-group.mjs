import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { cpuTimeMs } from './cpu-time.mjs';
import { root } from './step.mjs';

/** What test files call on the `t` that they import. */
const METHODS = ['test', 'before', 'beforeEach', 'after', 'afterEach', 'teardown'];

/** The innermost test that runs now. Errors that nothing catches are its failures. */
let running = t;

/**
 * Runs test files one after the other in this process. Each is a subtest that has the name of the file, and that the
 * `t` of `import t from 'tap'` stands for while the file runs.
 */
export async function runGroup(files) {
  const runFile = t.test.bind(t);
  let current = t;
  follow(t);
  process.on('uncaughtException', error => running.threw(error));
  for (const method of METHODS) t[method] = (...args) => current[method](...args);
  for (const file of files) {
    const startMs = cpuTimeMs();
    // Counted from here, as in a process of its own.
    t.setTimeout(Number(process.env.TAP_TIMEOUT) * 1_000);
    await runFile(file, async subtest => {
      current = subtest;
      // The teardown that is registered first runs last.
      subtest.teardown(() => subtest.comment(`cpu=${cpuTimeMs() - startMs}ms`));
      await import(pathToFileURL(join(root, file)).href);
    });
  }
}

/** Notes which test within `test` runs. */
function follow(test) {
  test.on('subtestStart', subtest => {
    running = subtest;
    follow(subtest);
  });
  test.on('subtestEnd', () => {
    running = test;
  });
}
