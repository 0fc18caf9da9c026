import type { EntryText, LimitText } from '../../../exam/decisions/rule-file.ts';
import type { SeededRandom } from '../../../support/seeded-random.ts';

type MakeRule = (random: SeededRandom) => EntryText;

const UNITS = ['second', 'minute', 'minute', 'hour', 'day'];

/** So few hits that histories reach them. */
function few(random: SeededRandom): number {
  return random.below(9);
}

function plain(random: SeededRandom, more: Partial<LimitText> = {}): LimitText {
  return { unit: random.pick(UNITS), requests_per_unit: few(random), ...more };
}

function some(random: SeededRandom): number {
  return 1 + random.below(8);
}

/** Rules that only say how many hits there may be in a window. */
const PLAIN_MAKERS: readonly MakeRule[] = [
  random => ({ key: 'user', rate_limit: plain(random) }),
  random => ({ key: 'path', rate_limit: plain(random, { requests_per_unit: 5 + random.below(40) }) }),
  random => ({ key: 'plan', value: 'v*', share_threshold: true, rate_limit: plain(random) }),
  random => ({ key: 'zone', in: ['v0', 'v1', 'v2'], rate_limit: plain(random) }),
  () => ({ key: 'free', rate_limit: { unlimited: true } }),
];

/** Rules of every kind, each with a key of its own. The names of those with leases are known to the statistics. */
const MAKERS: readonly MakeRule[] = [
  random => ({ key: 'user', rate_limit: plain(random) }),
  random => ({ key: 'user', rate_limit: plain(random), shadow_mode: random.below(4) === 0 }),
  random => ({
    key: 'path',
    rate_limit: plain(random, { unit: 'minute' }),
    descriptors: [{ key: 'method', rate_limit: plain(random) }],
  }),
  random => ({ key: 'big', rate_limit: plain(random, { requests_per_unit: 10 ** (2 + random.below(12)) }) }),
  random => ({ key: 'plan', value: 'v*', share_threshold: true, rate_limit: plain(random) }),
  random => ({
    key: 'zone',
    in: ['v0', 'v1', 'v2'],
    share_threshold: random.below(2) === 0,
    rate_limit: plain(random),
  }),
  random => ({
    key: 'long',
    rate_limit: { window: random.pick(['5s', '90s', '7m']), requests_per_unit: few(random) },
  }),
  random => ({
    key: 'month',
    rate_limit: { calendar: { period: 'month', zone: 'UTC' }, requests_per_unit: few(random) },
  }),
  random => ({
    key: 'sliding',
    rate_limit: plain(random, { algorithm: 'sliding_window', unit: random.pick(['second', 'minute']) }),
  }),
  random => ({
    key: 'bucket',
    rate_limit: plain(random, {
      ...{ algorithm: 'token_bucket', unit: random.pick(['second', 'minute', 'hour']) },
      ...{ requests_per_unit: some(random), burst: some(random) },
    }),
  }),
  random => ({
    key: 'after',
    rate_limit: plain(random, { after_limit: { admit: random.pick(['10%', '30%', '50%']) } }),
  }),
  random => ({
    key: 'several',
    rate_limits: [
      plain(random, { name: 'short', unit: 'second' }),
      plain(random, { name: 'slow', unit: 'minute', shadow_mode: random.below(3) === 0 }),
      { name: 'even', window: '1m', requests_per_unit: some(random), algorithm: 'sliding_window' },
    ],
  }),
  random => ({ key: 'quota', quota_mode: true, rate_limit: plain(random) }),
  random => ({ key: 'lot', quota_mode: true, rate_limit: plain(random) }),
  random => ({ key: 'named', rate_limit: plain(random, { name: 'replaced' }) }),
  random => ({ key: 'instead', rate_limit: plain(random, { replaces: [{ name: 'replaced' }] }) }),
  () => ({ key: 'free', rate_limit: { unlimited: true } }),
  random => ({
    key: 'slots',
    holder: 'id',
    rate_limit: { concurrency: { limit: random.below(4), for: random.pick(['2s', '10s', '1m']) } },
  }),
  random => ({
    key: 'budget',
    holder: 'id',
    rate_limit: {
      ...{ unit: 'hour', requests_per_unit: 5 + random.below(30) },
      reserve: {
        for: random.pick(['3s', '20s', '5m']),
        ...(random.below(3) === 0 && { overdraft: 'allow' }),
        ...(random.below(3) === 0 && { zero_hits: 'settle' }),
        ...(random.below(3) === 0 && { estimate: 3 }),
      },
    },
  }),
];

/** Some rules with different keys, of every kind or only plain ones. */
export function randomRules(random: SeededRandom, arePlain: boolean): EntryText[] {
  const makers = arePlain ? PLAIN_MAKERS : MAKERS;
  const rules = new Map<string, EntryText>();
  const count = 1 + random.below(6);
  for (let i = 0; i < count; i++) {
    const rule = random.pick(makers)(random);
    rules.set(rule.key, rule);
  }
  return [...rules.values()];
}

/** The same rules after a person has edited one of them. */
export function editedRules(random: SeededRandom, rules: readonly EntryText[]): EntryText[] {
  const at = random.below(rules.length);
  const rule = rules[at];
  const others = rules.filter(each => each !== rule);
  const edited = editedRule(random, rule);
  if (edited === null) return others.length === 0 ? [...rules] : others;
  return rules.map(each => (each === rule ? edited : each));
}

/** Null for a rule that is removed. The rate of a bucket stays, because its state follows from it. */
function editedRule(random: SeededRandom, rule: EntryText): EntryText | null {
  const { rate_limit: limit } = rule;
  switch (random.below(6)) {
    case 0:
      return null;
    case 1:
      return rule.holder === undefined ? { ...rule, shadow_mode: rule.shadow_mode !== true } : rule;
    case 2:
      if (limit?.unit === undefined || limit.algorithm !== undefined || limit.reserve !== undefined)
        return rule;
      return { ...rule, rate_limit: { ...limit, unit: random.pick(UNITS) } };
    default:
      if (limit?.concurrency !== undefined)
        return { ...rule, rate_limit: { concurrency: { ...limit.concurrency, limit: random.below(4) } } };
      if (limit?.requests_per_unit === undefined || limit.algorithm === 'token_bucket') return rule;
      return { ...rule, rate_limit: { ...limit, requests_per_unit: few(random) } };
  }
}
