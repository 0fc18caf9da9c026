import { basename, dirname } from 'node:path';
import type { Sources } from './import-order.ts';

const MAX_LINES = 400;
/** Files beside each other, not counting those in folders below. */
const MAX_FILES = 20;

/** Exported declarations. */
const EXPORT = /^export (?:abstract |async )*(?:const|function\*?|class|interface|type) ([\w$]+)/gm;
/** One sentence for each source with more lines than a reader takes in, and for each folder with too many sources. */
export function sizeFaults(sources: Sources): string[] {
  const files = new Map<string, number>();
  for (const path of sources.keys()) files.set(dirname(path), (files.get(dirname(path)) ?? 0) + 1);
  return [
    ...[...sources]
      .map(([path, text]) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > MAX_LINES)
      .map(
        ({ path, lines }) => `${path} has ${lines} lines; at most ${MAX_LINES}: find the second idea in it`,
      ),
    ...[...files]
      .filter(([, count]) => count > MAX_FILES)
      .map(
        ([folder, count]) =>
          `${folder} has ${count} files; at most ${MAX_FILES}: divide it by what they are about`,
      ),
  ];
}

/**
 * One sentence for each exported name that no other file imports.
 *
 * @param users every file that may import a source: the sources themselves, tests and benches
 */
export function exportFaults(sources: Sources, users: Sources): string[] {
  const facts = [...users].map(([path, text]) => ({
    path,
    words: new Set(text.match(/[\w$]+/g)),
    // Dynamic imports name files in other ways as well: `import('./check.ts')`, new URL(`../io${extension}`).
    files: new Set([...text.matchAll(/\/([\w-]+)[.$]/g)].map(([, name]) => name)),
  }));
  return [...sources].flatMap(([path, text]) => {
    const name = basename(path).replace(/\.tsx?$/, '');
    const importers = facts.filter(user => user.path !== path && user.files.has(name));
    return [...text.matchAll(EXPORT)]
      .map(([, exported]) => exported)
      .filter(exported => !importers.some(({ words }) => words.has(exported)))
      .map(exported => `${path} exports ${exported}, which no other file imports`);
  });
}
