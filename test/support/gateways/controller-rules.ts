import type { RateLimitResponse, RequestDescriptor } from '../../../src/messages/client-codec.ts';
import { type ConfigMessage, type DescriptorMessage, UNIT } from '../xds-messages.ts';

/** A level of a rule, or of what Envoy sends for it: a key with a value, or a key that is its own value. */
export type Level = string | readonly [key: string, value: string];

/** A number of requests and a unit: all that controllers know of a limit. */
export type ControllerLimit = readonly [requests: number, unit: keyof typeof UNIT];

/** A rule that a controller makes of one rule of a policy, and what Envoy sends for a request that it applies to. */
export interface ControllerRule {
  /** What the policy says. */
  readonly policy: string;
  readonly domain: string;
  /** From the top down. An empty value stands for every value. */
  readonly levels: readonly Level[];
  readonly limit: ControllerLimit;
  /** Fields of the last level. */
  readonly marks?: Pick<DescriptorMessage, 'quota_mode' | 'detailed_metric' | 'shadow_mode'>;
  /** Marks every level below the first. */
  readonly isShadowOnEveryLevel?: boolean;
  /** The same as `levels`, unless those stand for every value. */
  readonly sent?: readonly Level[];
}

/** The resources of a controller: one for each domain, in which rules share the levels that they have in common. */
export function resourcesOf(rules: readonly ControllerRule[]): ConfigMessage[] {
  return [...groups(rules, rule => rule.domain)].map(([domain, each]) => ({
    name: domain,
    domain,
    descriptors: treeOf(each, 0),
  }));
}

function treeOf(rules: readonly ControllerRule[], depth: number): DescriptorMessage[] {
  return [...groups(rules, rule => pairOf(rule.levels[depth]).join('\0')).values()].map(each => {
    const [key, value] = pairOf(each[0].levels[depth]);
    const last = each.find(rule => rule.levels.length === depth + 1);
    return {
      key,
      ...(value !== '' && { value }),
      ...(depth > 0 && each[0].isShadowOnEveryLevel && { shadow_mode: true }),
      ...(last && {
        rate_limit: { requests_per_unit: last.limit[0], unit: UNIT[last.limit[1]] },
        ...last.marks,
      }),
      descriptors: treeOf(
        each.filter(rule => rule !== last),
        depth + 1,
      ),
    };
  });
}

/** What Envoy sends for a rule. `hitsAddend` is null unless the policy has a cost. */
export function sentFor(rule: ControllerRule, hitsAddend: number | null = null): RequestDescriptor {
  const entries = (rule.sent ?? rule.levels).map(level => {
    const [key, value] = pairOf(level);
    return { key, value };
  });
  return { entries, limit: null, hitsAddend };
}

/** The limits of an answer, in the form of {@link ControllerLimit}; null where no rule has applied. */
export function limitsOf({ statuses }: RateLimitResponse): (ControllerLimit | null)[] {
  return statuses.map(({ currentLimit: limit }) => limit && [limit.requestsPerUnit, UNIT_NAMES[limit.unit]]);
}

/** By their numbers, which are the same in rules and answers. */
const UNIT_NAMES = Object.fromEntries(
  Object.entries(UNIT).map(([name, number]) => [number, name]),
) as Readonly<Record<number, keyof typeof UNIT>>;

function pairOf(level: Level): readonly [string, string] {
  return typeof level === 'string' ? [level, level] : level;
}

function groups<T>(all: readonly T[], by: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const key = by(one);
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return found;
}
