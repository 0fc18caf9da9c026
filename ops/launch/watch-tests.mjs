import { watch } from 'node:fs';
import { join } from 'node:path';
import { buildSources } from './build.mjs';
import { runTests } from './run-tests.mjs';
import { note, root, StepFailure } from './step.mjs';

const FOLDERS = ['src', 'workers', 'pages', 'test', 'bench'];

/** Delay after a change, because an editor may write a file in several steps. */
const SETTLED_MS = 100;

/** Compiles and runs the built test files, and again after each change of a source, until the process is ended. */
export async function watchTests(files) {
  for (;;) {
    const change = nextChange();
    try {
      await buildSources('tests');
      await runTests(files);
    } catch (failure) {
      if (!(failure instanceof StepFailure) || failure.signal !== undefined) throw failure;
      note(failure.message);
    }
    process.exitCode = undefined;
    note('waiting for a change (Ctrl-C to stop)');
    await change;
  }
}

/** Resolves when a source has changed and no other change followed within the delay. */
function nextChange() {
  const { promise, resolve } = Promise.withResolvers();
  let timer;
  const watchers = FOLDERS.map(folder =>
    watch(join(root, folder), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        for (const watcher of watchers) watcher.close();
        resolve();
      }, SETTLED_MS);
    }),
  );
  return promise;
}
