import { posix } from 'node:path';

/** How far a service test is from a module, which it does not import, if no word of their paths is the same. */
const SERVICE_DISTANCE = 12;
/** How much nearer a word is that both paths have, divided by the number of service tests with that word. */
const WORD = 8;

/** Tests that send bytes mirror no folder. They count as being this far from all that they import. */
const WIRE_FOLDERS = 1;

const SERVICE = 'test/service/';
const WIRE = 'test/wire/';
const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bURL\(\s*)['"`](\.[^'"`]*?)(?:\.\$\{\w+\}|\.[jt]s)['"`]/g;

/**
 * Returns the tests that may notice a change of a module, the nearest first. The distance is the number of imports from
 * a test to the module, and of the folders between the test and the one that mirrors the folder of the module.
 *
 * @param texts texts of all sources and tests, by path
 */
export function nearestTests(module: string, texts: ReadonlyMap<string, string>): string[] {
  const tests = [...texts.keys()].filter(path => path.endsWith('.test.ts'));
  const imports = importsOf(module, texts);
  const services = tests.filter(path => path.startsWith(SERVICE));
  const nearness = nearnessByWord(module, services);
  const distances = new Map(services.map(test => [test, SERVICE_DISTANCE - nearness(test)]));
  for (const test of tests) {
    const steps = imports.get(test);
    if (!distances.has(test) && steps !== undefined)
      distances.set(test, steps + foldersBetween(module, test));
  }
  const sizeOf = (test: string): number => texts.get(test)?.length ?? 0;
  return [...distances]
    .sort(([a, distanceA], [b, distanceB]) => distanceA - distanceB || sizeOf(a) - sizeOf(b))
    .map(([test]) => test);
}

/** Returns a function for how much nearer a service test is because of its name. A rare word says more. */
function nearnessByWord(module: string, services: readonly string[]): (test: string) => number {
  const ofModule = wordsOf(module);
  const counts = new Map<string, number>();
  for (const word of services.flatMap(test => [...wordsOf(test)]))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return test =>
    [...wordsOf(test)]
      .filter(word => ofModule.has(word))
      .reduce((sum, word) => sum + WORD / (counts.get(word) as number), 0);
}

function foldersBetween(module: string, test: string): number {
  if (test.startsWith(WIRE)) return WIRE_FOLDERS;
  const mirrored = posix.dirname(module).replace('src', 'test/unit');
  const between = posix.relative(mirrored, posix.dirname(test));
  return between === '' ? 0 : between.split('/').length;
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
  return new Set(path.replace(/^src\/|^test\/service\/|(?:\.test)?\.ts$/g, '').split(/[/-]/));
}
