import { inspect, isDeepStrictEqual } from 'node:util';

const MAX_PLACES = 8;

/** Where two values differ, a line each, the first few. */
export function differingPlaces(found: unknown, expected: unknown): string {
  const places: string[] = [];
  collect('', found, expected, places);
  return places.slice(0, MAX_PLACES).join('\n');
}

function collect(path: string, found: unknown, expected: unknown, places: string[]): void {
  if (places.length >= MAX_PLACES || isDeepStrictEqual(found, expected)) return;
  const [inFound, inExpected] = [partsOf(found), partsOf(expected)];
  if (inFound === null || inExpected === null) {
    places.push(`${path || 'the whole'}: found ${show(found)}, expected ${show(expected)}`);
    return;
  }
  const before = places.length;
  for (const name of new Set([...inFound.keys(), ...inExpected.keys()])) {
    if (!inFound.has(name)) places.push(`${path}.${name}: missing, expected ${show(inExpected.get(name))}`);
    else if (!inExpected.has(name))
      places.push(`${path}.${name}: found ${show(inFound.get(name))}, expected none`);
    else collect(`${path}.${name}`, inFound.get(name), inExpected.get(name), places);
  }
  if (places.length === before) places.push(`${path || 'the whole'}: of another class`);
}

function partsOf(value: unknown): Map<string, unknown> | null {
  if (value instanceof Map) return value;
  if (value instanceof Error || value === null || typeof value !== 'object') return null;
  return new Map(Object.entries(value));
}

function show(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}
