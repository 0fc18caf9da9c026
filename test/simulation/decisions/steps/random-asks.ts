import type { EntryText } from '../../../exam/decisions/rule-file.ts';
import type { SeededRandom } from '../../../support/seeded-random.ts';
import type { Ask, AskedDescriptor } from './step.ts';

const VALUES = 6;
const HOLDERS = 5;
const UNKNOWN_ONE_IN = 20;
const GONE_ONE_IN = 60;
const ACTIONS = ['reserve', 'settle', 'release', 'extend'] as const;

/** What requests are made for. Plain requests have no refunds and no limits of their own. */
export interface AskedRules {
  readonly rules: readonly EntryText[];
  readonly arePlain: boolean;
}

/** A value of few, of which the first ones come much more often. */
function skewed(random: SeededRandom): string {
  return `v${Math.floor((VALUES + 1) ** random.next()) - 1}`;
}

/** Mostly the usual 1; sometimes none, several or very many. */
function randomHits(random: SeededRandom): number | null {
  switch (random.below(12)) {
    case 0:
      return 0;
    case 1:
    case 2:
      return 1 + random.below(5);
    case 3:
      return random.below(4) === 0 ? 10 ** (1 + random.below(12)) : 2;
    default:
      return null;
  }
}

/** A request to one instance. All descriptors of a refund are refunds. */
export function randomAsk(random: SeededRandom, { rules, arePlain }: AskedRules, instance: number): Ask {
  const count = 1 + (random.below(3) === 0 ? 1 + random.below(3) : 0);
  const isRefund = random.below(9) === 0 && !arePlain;
  const descriptors = Array.from({ length: count }, () =>
    randomDescriptor(random, { rules, arePlain }, isRefund),
  );
  return {
    ...{ do: 'ask', instance, descriptors },
    ...(random.below(6) === 0 && { hits: random.below(4) }),
    ...(random.below(GONE_ONE_IN) === 0 && { isGone: true }),
  };
}

function randomDescriptor(
  random: SeededRandom,
  { rules, arePlain }: AskedRules,
  isRefund: boolean,
): AskedDescriptor {
  const rule = random.pick(rules);
  const of = random.below(UNKNOWN_ONE_IN) === 0 ? 'other=v0' : entriesOf(random, rule);
  const hits = randomHits(random);
  const isLeased = rule.holder !== undefined && of !== 'other=v0';
  return {
    of,
    ...(hits !== null && { hits }),
    ...(isRefund && { isRefund: true }),
    ...(random.below(30) === 0 &&
      !(isLeased || arePlain || isRefund) && {
        limit: { requestsPerUnit: random.below(6), unit: 1 + random.below(3) },
      }),
    ...(isLeased &&
      random.below(3) === 0 && {
        lease: { id: `h${random.below(HOLDERS)}`, action: random.pick(ACTIONS) },
      }),
  };
}

function entriesOf(random: SeededRandom, { key, holder, descriptors }: EntryText): string {
  const own = `${key}=${skewed(random)}`;
  if (holder !== undefined && random.below(8) > 0) return `${own},${holder}=h${random.below(HOLDERS)}`;
  if (descriptors !== undefined && random.below(2) === 0)
    return `${own},${descriptors[0].key}=${skewed(random)}`;
  return own;
}
