import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { apiCases } from '../support/tasks/api-cases.ts';
import { tempDirectory } from '../support/temp-directory.ts';

apiCases(t, async t => {
  const directory = tempDirectory(t);
  return {
    settings: { TASKS_DATA_DIRECTORY: directory },
    files: () =>
      readdirSync(directory)
        .map(name => readFileSync(join(directory, name), 'latin1'))
        .join(),
  };
});
