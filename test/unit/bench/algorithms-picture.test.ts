import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { admittedByAlgorithm, BURST, LIMIT } from '../../../bench/pictures/admitted.ts';
import { algorithmsPicture } from '../../../bench/pictures/algorithms-picture.ts';
import { repositoryRoot } from '../../support/repository.ts';

t.test('docs/algorithms.svg shows what the algorithms admit', async t => {
  const shown = readFileSync(join(repositoryRoot(), 'docs/algorithms.svg'), 'utf8');
  t.equal(shown, await algorithmsPicture(), 'otherwise run node build/bench/pictures/algorithms.js');
});

t.test('around the border of two windows, only the fixed window admits twice the limit', async t => {
  const burst = { fixed_window: 2 * LIMIT, sliding_window: LIMIT + 9, token_bucket: BURST + 19 };
  for (const { title, perSecond } of await admittedByAlgorithm()) {
    const around = perSecond.slice(50, 70).reduce((sum, count) => sum + count, 0);
    t.equal(around, burst[title as keyof typeof burst], title);
  }
});
