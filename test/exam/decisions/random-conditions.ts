import type { SeededRandom } from '../../support/seeded-random.ts';
import type { ConditionText, EntryText } from './rule-file.ts';

const TEXTS = ['x', 'X', 'y', 'xy', 'Xy', 'b_x', 'ü', '', 'x_y'];
const ADDRESSES = [
  ...['10.0.0.1', '10.1.2.3', '10.1.2.200', '11.0.0.1', '::ffff:10.1.2.3', '::ffff:a01:203'],
  ...['2001:db8::1', '2001:db9::1%eth0', '::', '10.1.2', '010.1.2.3', '1::2::3'],
];
const NUMBERS = ['1', '5', '5.5', '7', '-3', '100', '1e3', '05', '-0', '5.'];
const PATHS = ['/api/v1/x', '/api/v2?q=1', '/API/v3', 'api/v1', '/'];

/** A value that meets a condition or a grouping of an entry, or nearly. */
export function valueFor(random: SeededRandom, entry: Partial<EntryText>): string {
  const { in: list, cidr, range, matches, group_by: groupBy } = { ...entry, ...entry.not };
  if (random.below(6) === 0) return random.pick([...TEXTS, ...ADDRESSES, ...NUMBERS, ...PATHS]);
  if (list !== undefined) return random.below(4) === 0 ? random.pick(TEXTS) : random.pick(list);
  if (cidr !== undefined || groupBy?.prefix !== undefined) return random.pick(ADDRESSES);
  if (range !== undefined) return random.pick(NUMBERS);
  if (matches !== undefined || groupBy !== undefined) return random.pick([...PATHS, ...TEXTS]);
  return random.pick(TEXTS);
}

const LISTS = [['x', 'y'], ['x'], ['xy', 'b_x', '5'], ['X', 'Y'], ['', 'x_y'], ['10.1.2.3', '7']];
const NETWORKS = [
  ['10.0.0.0/8'],
  ['10.1.0.0/16', '2001:db8::/32'],
  ['10.1.2.0/24', '11.0.0.0/8'],
  ['0.0.0.0/0'],
  ['::/0'],
  ['::ffff:10.1.2.0/121', '10.1.2.3'],
];
const RANGES = [
  { from: 1, to: 5 },
  { from: 5 },
  { to: 5.5 },
  { from: 5, to: 7 },
  { from: 4, to: 6 },
  { from: -10, to: 1000 },
];
const PATTERNS = ['^x', 'y$', '^/api/v[0-9]+(/|$)', '[0-9]', '^(x|b_x)$', 'ü', '^$', '.'];

/** What an entry has instead of a value. */
export function randomCondition(random: SeededRandom): Partial<EntryText> {
  if (random.below(4) > 0) return oneCondition(random);
  const { ignore_case: fold, ...first } = oneCondition(random);
  const second = random.below(3) === 0 ? { range: random.pick(RANGES) } : {};
  const hasCase = 'in' in first || 'matches' in first || 'value' in first;
  return { not: { ...first, ...second, ...(hasCase && fold && { ignore_case: true }) } };
}

function oneCondition(random: SeededRandom): ConditionText & { readonly value?: string } {
  const fold = random.below(3) === 0 ? { ignore_case: true } : {};
  switch (random.below(5)) {
    case 0:
      return { value: random.pick(['x', 'Y', 'xy']), ignore_case: true };
    case 1:
      return { in: random.pick(LISTS), ...fold };
    case 2:
      return { cidr: random.pick(NETWORKS) };
    case 3:
      return { range: random.pick(RANGES) };
    default:
      return { matches: random.pick(PATTERNS), ...fold };
  }
}
