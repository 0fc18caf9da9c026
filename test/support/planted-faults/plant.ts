import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { ALL_PLANTED } from './all-planted.ts';

/**
 * Plants one fault of {@link ALL_PLANTED} into the modules of this process, before they are loaded: the one that the variable
 * `PLANTED_FAULT` numbers. For `node --import`.
 */
const { file, from, to, name } = ALL_PLANTED[Number(process.env['PLANTED_FAULT'])];
const ending = `/build/src/${file}.js`;

registerHooks({
  load(url, context, next) {
    if (!url.endsWith(ending)) return next(url, context);
    const pieces = readFileSync(fileURLToPath(url), 'utf8').split(from);
    if (pieces.length !== 2)
      throw new Error(`"${name}": ${file} has ${pieces.length - 1} places with ${from}`);
    return { format: 'module', source: pieces.join(to), shortCircuit: true };
  },
});
