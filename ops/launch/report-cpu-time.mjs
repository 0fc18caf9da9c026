// Preloaded into test processes. Reports the processor time of the test file when it ends, as a comment of TAP.
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { cpuTimeMs } from './cpu-time.mjs';

if (isMainThread && /\.test\.js$/.test(process.argv[1] ?? ''))
  process.on('exit', () => writeSync(process.stdout.fd, `# cpu=${cpuTimeMs()}ms\n`));
