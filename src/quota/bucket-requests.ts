import type { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { type DescriptorEntry, encodeRateLimitRequest } from '../messages/client-codec.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { BucketRequests, QuotaBucket } from './quota-bucket.ts';

/**
 * How rules have the keys of a bucket:
 *
 * - `ordered`: in one order
 * - `ambiguous`: in several orders
 * - `beyond`: not in those orders that are known, and the domain has more
 * - `none`: not at all
 */
type Keys = 'ordered' | 'ambiguous' | 'beyond' | 'none';

/** The entries of a bucket as rules match them. */
interface MatchedEntries {
  readonly keys: Keys;
  /** In the order in which the rules have their keys; as they are if there is no such order. */
  readonly descriptor: readonly DescriptorEntry[];
}

/** No rule matches a descriptor with this entry. */
const NO_RULE: DescriptorEntry = { key: '', value: '' };

/** Finds the order in which rules have the keys of a bucket. */
export function matchedEntries(
  rules: CompiledRules,
  { domain, entries }: Pick<QuotaBucket, 'domain' | 'entries'>,
): MatchedEntries {
  const name = Buffer.from(domain);
  const level = rules.domainLevel(name, 0, name.length);
  const values = new Map(entries.map(({ key, value }) => [key, value]));
  const isThese = (keys: readonly string[]) =>
    keys.length === values.size && keys.every(key => values.has(key));
  const order = rules.bucketOrders(level).find(isThese);
  if (order !== undefined)
    return { keys: 'ordered', descriptor: order.map(key => ({ key, value: values.get(key)! })) };
  const { ambiguous, isCut } = rules.bucketsWithoutOrder(level);
  const keys = ambiguous.some(isThese) ? 'ambiguous' : isCut ? 'beyond' : 'none';
  return { keys, descriptor: entries };
}

/** The requests of a bucket for rules, which are kept until there are other rules. */
export function requestsFor(generation: RuleGeneration, bucket: QuotaBucket): BucketRequests {
  if (bucket.requests?.generation !== generation) bucket.requests = newRequests(generation, bucket);
  return bucket.requests;
}

function newRequests(generation: RuleGeneration, bucket: QuotaBucket): BucketRequests {
  const { keys, descriptor } = matchedEntries(generation.rules, bucket);
  // A rule that has the keys in this order by chance would otherwise match.
  const entries = keys === 'ambiguous' || keys === 'beyond' ? [...descriptor, NO_RULE] : descriptor;
  const request = (isNegativeHits: boolean) =>
    encodeRateLimitRequest({
      domain: bucket.domain,
      descriptors: [{ entries, limit: null, hitsAddend: 0, isNegativeHits }],
      hitsAddend: 0,
    });
  return { generation, descriptor, asking: request(false), refunding: request(true) };
}
