import type { SeededRandom } from '../seeded-random.ts';

/** An expression of five fields, sometimes six, that comes at some time of every year. */
export function randomCron(random: SeededRandom): string {
  const fields = [
    field(random, 0, 59),
    field(random, 0, 23),
    random.below(3) === 0 ? field(random, 1, 28) : '*',
    random.below(4) === 0 ? field(random, 1, 12) : '*',
    random.below(3) === 0 ? field(random, 0, 6) : '*',
  ];
  if (random.below(6) === 0) fields.unshift(field(random, 0, 59));
  return fields.join(' ');
}

function field(random: SeededRandom, min: number, max: number): string {
  const value = (): number => min + random.below(max - min + 1);
  switch (random.below(5)) {
    case 0:
      return '*';
    case 1:
      return String(value());
    case 2:
      return `*/${1 + random.below(Math.min(max, 20))}`;
    case 3:
      return `${value()},${value()},${value()}`;
    default: {
      const from = value();
      const to = from + random.below(max - from + 1);
      return random.below(2) === 0 || from === to ? `${from}-${to}` : `${from}-${to}/${1 + random.below(5)}`;
    }
  }
}
