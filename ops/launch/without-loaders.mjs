// Keeps tap from loading into test processes what these tests do not use.
//
// tap preloads two modules into each test process, one for mocks and one that lists the loaded files for coverage. Each
// starts a loader thread that compiles its own copy of tap: together 0.6 s of processor time for each test process.
// Threads that a test starts preload both as well: without the loader threads, this is still almost half of the
// processor time of tests that start threads. These tests neither mock modules nor measure coverage.
//
// tap also preloads the second one into each program that a test starts, with a handler for every signal that ends a
// process. The program then takes 0.2 s longer to start, compiles its modules more slowly, and ends by signals that
// Node.js ignores, such as the one about the limit on the size of files.
import module, { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const PRELOADED = /\/@tapjs\/(?:mock|processinfo)\/dist\/esm\/import\.mjs$/;
/** Where tap keeps what it collects about this process. It changes nothing in a process that has this already. */
const COLLECTED = Symbol.for('@tapjs/processinfo.ProcessInfoNodeData');
const NOTHING = { url: 'data:text/javascript,', format: 'module', shortCircuit: true };

if (!isMainThread || /\.test\.js$/.test(process.argv[1] ?? '')) {
  // Before 22.15, Node.js has no such hooks, so both modules are loaded, but still start no threads.
  const skipped = new Set();
  const hooks = module.registerHooks?.({
    resolve(specifier, context, next) {
      if (!PRELOADED.test(specifier)) return next(specifier, context);
      skipped.add(specifier);
      if (skipped.size === 2) hooks.deregister();
      return NOTHING;
    },
  });
  module.register = () => {};
  syncBuiltinESMExports();
  // Processes that a test starts must run like those that a user starts.
  globalThis[COLLECTED] = { files: [], sources: {} };
  delete process.env.NODE_OPTIONS;
}
