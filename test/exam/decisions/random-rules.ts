import type { DescriptorEntry, RequestDescriptor } from '../../../src/messages/client-codec.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { randomCondition, valueFor } from './random-conditions.ts';
import type { EntryText, LimitText } from './rule-file.ts';

// Few and short, so that texts collide across the underscore and rules are met often.
const KEYS = ['a', 'b', 'a_x', 'k', 'k', 'k*', '*a'];
const PLAIN_KEYS = KEYS.filter(key => !key.includes('*'));
const VALUES = [
  '',
  '',
  '',
  'x',
  'y',
  'x_y',
  'b_x',
  'x*',
  '*',
  '*y',
  'x*y',
  'x*x',
  'x*y*x',
  '*xx*xx*',
  'ü*',
  '**',
];
const ASKED_KEYS = ['a', 'b', 'a_x', 'k', 'k1', 'aa', ''];
const ASKED_VALUES = ['', 'x', 'y', 'x_y', 'xy', 'xx', 'xyx', 'xyyx', 'b_x', 'ü1', 'x*', '*', 'z'];
const FILLINGS = ['', '', 'x', 'y', 'xy', 'yx', '_', 'ü'];
const NAMES = ['', 'n1', 'n2', 'n3'];
/** No rule has this key. */
const CLASS_KEY = 'tier';
const UNITS = ['second', 'minute', 'hour'];
const GROUPINGS = [{ prefix: 24 }, { prefix: 5 }, { segments: 1 }, { segments: 2 }];

/** Draws the limits of an entry. */
export type DrawLimits = (random: SeededRandom) => Pick<EntryText, 'rate_limit' | 'rate_limits'>;

/** One plain limit, or an unlimited rule. */
export const plainLimits: DrawLimits = random => ({ rate_limit: randomLimit(random) });

/** Limits of all kinds, up to three of them. */
export const anyLimits: DrawLimits = random => {
  if (random.below(4) === 0) return plainLimits(random);
  if (random.below(2) === 0) return { rate_limit: { ...anyCounting(random), name: random.pick(NAMES) } };
  const count = 1 + random.below(3);
  const modes = (): object => ({ shadow_mode: random.below(5) === 0, quota_mode: random.below(5) === 0 });
  const limits = NAMES.slice(1, 1 + count).map(name => ({ ...anyCounting(random), ...modes(), name }));
  return { rate_limits: limits };
};

/** A level of up to eight entries, with up to `depth` levels below it. No two are the same composite text. */
export function randomEntries(random: SeededRandom, depth: number, draw = plainLimits): EntryText[] {
  const entries = new Map<string, EntryText>();
  for (let i = random.below(8) + 1; i > 0; i--) {
    const condition = random.below(3) === 0 ? randomCondition(random) : null;
    const key = random.pick(condition === null ? KEYS : PLAIN_KEYS);
    const value = condition === null ? random.pick(VALUES) : (condition.value ?? '');
    const composite = value === '' ? key : `${key}_${value}`;
    const isOpen = condition !== null || composite.includes('*');
    const isShared = isOpen && random.below(2) === 0;
    const isGrouped = !isShared && (isOpen || value === '') && random.below(4) === 0;
    const nestedEntries = depth > 0 && random.below(2) === 0 ? randomEntries(random, depth - 1, draw) : [];
    entries.set(value !== '' || condition === null ? composite : JSON.stringify([key, condition]), {
      key,
      ...(condition ?? { value }),
      ...(isGrouped && { group_by: random.pick(GROUPINGS) }),
      ...(random.below(4) === 0 ? {} : draw(random)),
      shadow_mode: random.below(6) === 0,
      quota_mode: random.below(5) === 0,
      detailed_metric: random.below(5) === 0,
      value_to_metric: random.below(4) === 0,
      share_threshold: isShared,
      descriptors: nestedEntries,
    });
  }
  return [...entries.values()].map(withoutQuotaPenalties).map(withoutLostClasses);
}

/** Limits cannot have classes if a pattern below takes the entry that names the class. */
function withoutLostClasses(entry: EntryText): EntryText {
  const isTaken = entry.descriptors?.some(({ key, value }) => `${key}_${value}`.startsWith('*')) ?? false;
  if (!isTaken) return entry;
  const allowed = ({ classes: _, ...limit }: LimitText): LimitText => limit;
  const { rate_limit: one, rate_limits: several } = entry;
  return {
    ...entry,
    ...(one && { rate_limit: allowed(one) }),
    ...(several && { rate_limits: several.map(allowed) }),
  };
}

/** Quotas cannot have penalties. */
function withoutQuotaPenalties(entry: EntryText): EntryText {
  const allowed = ({ penalty, ...limit }: LimitText): LimitText =>
    penalty === undefined || entry.quota_mode || limit.quota_mode ? limit : { ...limit, penalty };
  const { rate_limit: one, rate_limits: several } = entry;
  return {
    ...entry,
    ...(one && { rate_limit: allowed(one) }),
    ...(several && { rate_limits: several.map(allowed) }),
  };
}

function randomLimit(random: SeededRandom): LimitText {
  const name = random.pick(NAMES);
  const replaces = NAMES.filter(other => other !== '' && other !== name && random.below(8) === 0);
  const named = { name, replaces: replaces.map(other => ({ name: other })) };
  if (random.below(8) === 0) return { unlimited: true, ...named };
  const requests = random.below(12);
  // Around the greatest number of 32 bits.
  const more = random.below(10) === 0 ? 4_294_967_290 : 0;
  return { unit: random.pick(UNITS), requests_per_unit: more + requests, ...named };
}

function anyPenalty(random: SeededRandom): Pick<LimitText, 'penalty'> {
  if (random.below(3) > 0) return {};
  return { penalty: { after: 1 + random.below(2), for: random.pick(['5s', '90s']), factor: 2, max: '3m' } };
}

/** A penalty, classes, or nothing. */
function anyOther(random: SeededRandom): Pick<LimitText, 'penalty' | 'classes'> {
  const penalty = anyPenalty(random);
  if (penalty.penalty !== undefined || random.below(3) > 0) return penalty;
  return { classes: { key: CLASS_KEY, x: '100%', y: '60%', default: random.pick(['0%', '45.5%', '100%']) } };
}

/** A window and an algorithm, and sometimes a penalty, classes, or a share that passes after the limit. */
function anyCounting(random: SeededRandom): LimitText {
  const other = anyOther(random);
  const requests = { requests_per_unit: 1 + random.below(12), ...other };
  const isCounted = other.penalty === undefined && other.classes === undefined;
  const after = isCounted && random.below(3) === 0 ? { after_limit: { admit: '30%' } } : {};
  switch (random.below(4)) {
    case 0:
      return {
        ...requests,
        ...after,
        calendar: { period: random.pick(['day', 'week', 'month']), zone: 'Asia/Kolkata' },
      };
    case 1:
      return { ...requests, window: random.pick(['3s', '90s', '2h']), algorithm: 'sliding_window' };
    case 2:
      return { ...requests, window: '1m', algorithm: 'token_bucket', burst: 1 + random.below(9) };
    default:
      return { ...requests, ...after, window: random.pick(['3s', '90s', '2h']) };
  }
}

/**
 * A descriptor of up to three entries, now and then with hits or a limit of its own. Most go down the rules, in texts
 * that match or nearly do; the others are drawn without a look at them.
 */
export function randomDescriptor(random: SeededRandom, rules: readonly EntryText[]): RequestDescriptor {
  const depth = random.below(16) === 0 ? 0 : 1 + random.below(3);
  const entries: DescriptorEntry[] = [];
  let level = rules;
  for (let i = 0; i < depth; i++) {
    if (level.length === 0 && random.below(4) > 0) break;
    const rule = level.length > 0 && random.below(8) > 0 ? random.pick(level) : undefined;
    entries.push(rule === undefined ? anyEntry(random) : entryLike(random, rule));
    if (rule !== undefined && hasClasses(rule) && random.below(4) > 0)
      entries.push({ key: CLASS_KEY, value: random.pick(['x', 'y', 'z']) });
    level = rule?.descriptors ?? [];
  }
  return {
    entries,
    limit: random.below(10) === 0 ? { requestsPerUnit: random.below(12), unit: 1 + random.below(7) } : null,
    hitsAddend: random.below(3) === 0 ? random.below(5) : null,
    isNegativeHits: random.below(5) === 0,
  };
}

function hasClasses({ rate_limit: one, rate_limits: several = [] }: EntryText): boolean {
  return [...(one === undefined ? [] : [one]), ...several].some(({ classes }) => classes !== undefined);
}

function anyEntry(random: SeededRandom): DescriptorEntry {
  return { key: random.pick(ASKED_KEYS), value: random.pick(ASKED_VALUES) };
}

/** Whether a rule has a condition, or groups values. Its key is then matched as it is, except for a `*`. */
function isOpen(rule: EntryText): boolean {
  return ['in', 'cidr', 'range', 'matches', 'not', 'group_by', 'ignore_case'].some(field => field in rule);
}

/** A key and a value whose joined text the rule matches, divided at any of its underscores. */
function entryLike(random: SeededRandom, rule: EntryText): DescriptorEntry {
  if (isOpen(rule)) return { key: rule.key.replaceAll('*', 'x'), value: valueFor(random, rule) };
  const value = rule.value || random.pick(ASKED_VALUES);
  const pattern = `${rule.key}_${value}`;
  const text = random.below(8) === 0 ? pattern : pattern.replace(/\*/g, () => random.pick(FILLINGS));
  const underscores = [...text.matchAll(/_/g)].map(match => match.index);
  const at = random.below(3) === 0 ? random.pick(underscores) : underscores[0];
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}
