// Draws docs/algorithms.svg: what the algorithms of limits admit of the same load. Run: node build/bench/pictures/algorithms.js
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../test/support/repository.ts';
import { algorithmsPicture } from './algorithms-picture.ts';

writeFileSync(join(repositoryRoot(), 'docs/algorithms.svg'), await algorithmsPicture());
