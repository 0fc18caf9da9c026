import { posix } from 'node:path';

/** How far a service test is from a module, which it does not import, if no word of their paths is the same. */
const SERVICE_DISTANCE = 12;
/** How much nearer each word is that both paths have. */
const WORD = 2;

const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bURL\(\s*)['"`](\.[^'"`]*?)(?:\.\$\{\w+\}|\.[jt]s)['"`]/g;

/**
 * Returns the tests that may notice a change of a module, the nearest first. The distance is the number of imports from
 * a test to the module, and of the folders between the test and the one that mirrors the folder of the module.
 *
 * @param texts texts of all sources and tests, by path
 */
export function nearestTests(module: string, texts: ReadonlyMap<string, string>): string[] {
  const imports = importsOf(module, texts);
  const distances = [...texts.keys()]
    .filter(path => path.endsWith('.test.ts'))
    .map(path => ({
      path,
      distance: distanceTo(module, path, imports.get(path)),
      size: texts.get(path)?.length ?? 0,
    }));
  return distances
    .filter(({ distance }) => distance !== undefined)
    .sort((a, b) => (a.distance as number) - (b.distance as number) || a.size - b.size)
    .map(({ path }) => path);
}

function distanceTo(module: string, test: string, imports: number | undefined): number | undefined {
  if (test.startsWith('test/service/')) {
    const words = wordsOf(test.slice('test/service/'.length));
    const shared = [...wordsOf(module.slice('src/'.length))].filter(word => words.has(word)).length;
    return SERVICE_DISTANCE - WORD * shared;
  }
  if (imports === undefined) return undefined;
  const mirrored = posix.dirname(module).replace('src', 'test/unit');
  const between = posix.relative(mirrored, posix.dirname(test));
  return imports + (between === '' ? 0 : between.split('/').length);
}

/** Returns the number of imports between a module and each file that needs it. */
function importsOf(module: string, texts: ReadonlyMap<string, string>): Map<string, number> {
  const importers = new Map<string, string[]>();
  for (const [path, text] of texts) {
    for (const [, name] of text.matchAll(IMPORTED)) {
      const imported = posix.join(posix.dirname(path), `${name}.ts`);
      importers.set(imported, [...(importers.get(imported) ?? []), path]);
    }
  }
  const distances = new Map([[module, 0]]);
  // Those that are found are added to the end, so the nearest come first.
  for (const [path, distance] of distances) {
    for (const importer of importers.get(path) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  return distances;
}

function wordsOf(path: string): Set<string> {
  return new Set(path.replace(/(?:\.test)?\.ts$/, '').split(/[/-]/));
}
