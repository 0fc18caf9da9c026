// Keeps tap from starting loader threads in test processes.
//
// tap registers two loaders in each test process, one for mocks and one that lists the loaded files for coverage. Each
// is a thread that compiles its own copy of tap: together 0.6 s of processor time for each of more than 400 test files,
// about a quarter of a whole run. Threads that a test starts would load both as well, and take twice as long to start.
// These tests neither mock modules nor measure coverage.
import module, { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (!isMainThread || /\.test\.js$/.test(process.argv[1] ?? '')) {
  module.register = () => {};
  syncBuiltinESMExports();
  // Processes that a test starts must run like those that a user starts.
  delete process.env.NODE_OPTIONS;
}
