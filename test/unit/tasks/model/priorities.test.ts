import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { BAND_PENALTIES_MS } from '../../../../src/tasks/model/task-content.ts';
import { repositoryRoot } from '../../../support/repository.ts';

t.test('tasks of a priority stand back by the delay that the guide states', async t => {
  const guide = readFileSync(join(repositoryRoot(), 'docs/tasks/guide.md'), 'utf8');
  const stated = [...guide.matchAll(/^\| `(\w+)` \| (\d+) s \|$/gm)].map(
    ([, priority, seconds]) => [priority, Number(seconds) * 1_000] as const,
  );
  t.strictSame(Object.fromEntries(stated), BAND_PENALTIES_MS);
});
