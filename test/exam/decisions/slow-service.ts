import type {
  DescriptorStatus,
  RateLimitRequest,
  RateLimitResponse,
  RequestDescriptor,
} from '../../../src/messages/client-codec.ts';
import { type DomainRules, type RuleLimit, type RuleSet, UNIT_NUMBERS } from '../../../src/rules/rule-set.ts';
import { sanitiseStatName } from '../../../src/stats/names.ts';
import { OK, OVER_LIMIT } from './examinee.ts';
import { slowCacheText, slowMatch, slowMetricKey } from './slow-rules.ts';

const LENGTH_S = [0, 1, 60, 3_600, 86_400, 2_592_000, 31_536_000, 604_800];
const NO_LIMIT: DescriptorStatus = {
  code: OK,
  currentLimit: null,
  limitRemaining: 0,
  durationUntilReset: null,
};

export interface SlowOptions {
  readonly holdBack: boolean;
  readonly localCache: boolean;
  readonly modes: { readonly shadow: boolean; readonly quota: boolean };
}

/** What applies to one descriptor. */
interface Applied {
  readonly kind: 'none' | 'unlimited' | 'limited';
  readonly limit: Pick<RuleLimit, 'name' | 'replaces' | 'requestsPerUnit'>;
  readonly unit: number;
  readonly shadow: boolean;
  readonly quota: boolean;
  readonly metricKey: string;
  readonly cacheKey: string;
  readonly hits: number;
  readonly isRefund: boolean;
}

/** The decision service for one request after the other: maps and texts, no batches, no columns. */
export class SlowService {
  readonly #rules: RuleSet;
  readonly #options: SlowOptions;
  readonly #counts = new Map<string, number>();
  readonly #knownOver = new Set<string>();
  /** Statistics by name after `ratelimit.service.`, none that is 0. */
  readonly statistics: Record<string, number> = {};

  constructor(rules: RuleSet, options: SlowOptions) {
    this.#rules = rules;
    this.#options = options;
  }

  decide(request: RateLimitRequest, nowS: number): RateLimitResponse {
    const applied = this.#apply(request, nowS);
    const statuses = this.#count(applied, nowS);
    let overallCode = this.#combine(applied, statuses);
    if (overallCode === OVER_LIMIT && this.#options.modes.shadow) {
      overallCode = OK;
      this.#add('global_shadow_mode', 1);
    }
    return { overallCode, statuses, responseHeadersToAdd: [], rawBody: '', dynamicMetadata: null };
  }

  #apply(request: RateLimitRequest, nowS: number): Applied[] {
    const domain = this.#rules.domains.find(each => each.name === request.domain);
    if (domain === undefined) {
      this.#add(`rate_limit.${request.domain}.domain_not_found`, request.descriptors.length);
      return request.descriptors.map(() => NOTHING);
    }
    const found = request.descriptors.map((descriptor): Applied => {
      const own = ownLimit(request.domain, descriptor) ?? ruleLimit(domain, descriptor);
      const start = nowS - (nowS % LENGTH_S[own.unit]);
      const hits = descriptor.hitsAddend ?? (request.hitsAddend === 0 ? 1 : request.hitsAddend);
      const isRefund = descriptor.isNegativeHits === true;
      return { ...own, cacheKey: `${own.cacheKey}${start}`, hits, isRefund };
    });
    const replaced = new Set(found.flatMap(({ limit }) => limit.replaces));
    return found.map(each => (each.kind === 'limited' && replaced.has(each.limit.name) ? NOTHING : each));
  }

  #count(applied: readonly Applied[], nowS: number): DescriptorStatus[] {
    const limited = applied.filter(({ kind }) => kind === 'limited');
    const asking = limited.filter(({ isRefund }) => !isRefund);
    const known = this.#known(limited);
    // Holding back looks at the counts of a request once what it gives back is given back.
    const given = new Map<Applied, number>();
    if (this.#options.holdBack)
      for (const each of limited) if (each.isRefund) given.set(each, this.#giveBack(each));
    const isFull = ({ cacheKey, hits, limit }: Applied) =>
      (this.#counts.get(cacheKey) ?? 0) + hits > limit.requestsPerUnit;
    const full = new Set(known.size > 0 ? [] : asking.filter(each => !known.has(each) && isFull(each)));
    const holding = this.#options.holdBack && (known.size > 0 || full.size > 0);
    const statuses = applied.map(each => {
      if (each.kind === 'none') return NO_LIMIT;
      if (each.isRefund) return this.#refund(each, nowS, given.get(each));
      this.#add(`rate_limit.${each.metricKey}.total_hits`, each.hits);
      if (each.kind === 'unlimited') {
        this.#add(`rate_limit.${each.metricKey}.within_limit`, each.hits);
        return { ...NO_LIMIT, limitRemaining: 4_294_967_295 };
      }
      if (known.has(each)) {
        this.#add(`rate_limit.${each.metricKey}.over_limit`, each.hits);
        this.#add(`rate_limit.${each.metricKey}.over_limit_with_local_cache`, each.hits);
        return this.#status(each, nowS, { over: true, overHits: each.hits, remaining: 0 });
      }
      return this.#countOne(each, nowS, holding && !full.has(each));
    });
    // A request that refunds a key does not learn anything about it, whatever else it counts there.
    for (const { isRefund, hits, cacheKey } of limited)
      if (isRefund && hits > 0) this.#knownOver.delete(cacheKey);
    return statuses;
  }

  /** Those whose key is known to be over its limit; a refund before them in the request makes that worthless. */
  #known(limited: readonly Applied[]): Set<Applied> {
    const refunded = new Set<string>();
    const known = new Set<Applied>();
    for (const each of limited) {
      if (each.isRefund && each.hits > 0) refunded.add(each.cacheKey);
      else if (!each.isRefund && this.#knownOver.has(each.cacheKey) && !refunded.has(each.cacheKey))
        known.add(each);
    }
    return known;
  }

  #refund(each: Applied, nowS: number, given: number | undefined): DescriptorStatus {
    this.#add(`rate_limit.${each.metricKey}.total_negative_hits`, each.hits);
    if (each.kind === 'unlimited') return { ...NO_LIMIT, limitRemaining: 4_294_967_295 };
    const after = given ?? this.#giveBack(each);
    const remaining = Math.max(each.limit.requestsPerUnit - after, 0);
    return this.#status(each, nowS, { over: false, overHits: 0, remaining });
  }

  /** One hit at a time, as long as there is one. */
  #giveBack({ cacheKey, hits }: Applied): number {
    let count = this.#counts.get(cacheKey) ?? 0;
    for (let hit = 0; hit < hits && count > 0; hit++) count--;
    this.#counts.set(cacheKey, count);
    return count;
  }

  #countOne(each: Applied, nowS: number, held: boolean): DescriptorStatus {
    const { hits, cacheKey, metricKey } = each;
    const limit = each.limit.requestsPerUnit;
    const before = this.#counts.get(cacheKey) ?? 0;
    const after = held ? before : before + hits;
    this.#counts.set(cacheKey, after);
    const near = Math.floor(Math.fround(Math.fround(0.8) * Math.fround(limit)));
    // A hit at a time: the first of these hits makes the count `before + 1`.
    const nth = Array.from({ length: hits }, (_, i) => (held ? after : before + i + 1));
    const over = held && after > limit ? hits : nth.filter(count => count > limit).length;
    const nearHits = held ? 0 : nth.filter(count => count > near && count <= limit).length;
    const isOver = after > limit;
    this.#add(`rate_limit.${metricKey}.within_limit`, isOver ? 0 : hits);
    this.#add(`rate_limit.${metricKey}.near_limit`, nearHits);
    this.#add(`rate_limit.${metricKey}.over_limit`, isOver ? over : 0);
    if (isOver && this.#options.localCache) this.#knownOver.add(cacheKey);
    return this.#status(each, nowS, { over: isOver, overHits: over, remaining: isOver ? 0 : limit - after });
  }

  #status(
    { limit, unit, shadow, metricKey }: Applied,
    nowS: number,
    outcome: { readonly over: boolean; readonly overHits: number; readonly remaining: number },
  ): DescriptorStatus {
    if (outcome.over && shadow) this.#add(`rate_limit.${metricKey}.shadow_mode`, outcome.overHits);
    return {
      code: outcome.over && !shadow ? OVER_LIMIT : OK,
      currentLimit: { name: limit.name, requestsPerUnit: in32Bits(limit.requestsPerUnit), unit },
      limitRemaining: in32Bits(outcome.remaining),
      durationUntilReset: LENGTH_S[unit] - (nowS % LENGTH_S[unit]),
    };
  }

  #combine(applied: readonly Applied[], statuses: readonly DescriptorStatus[]): number {
    const isQuota = ({ kind, quota }: Applied) =>
      kind !== 'unlimited' && (this.#options.modes.quota || quota);
    const over = (i: number) => statuses[i].code === OVER_LIMIT;
    const quotas = [...applied.keys()].filter(i => isQuota(applied[i]));
    const regularOver = [...applied.keys()].some(i => !isQuota(applied[i]) && over(i));
    return regularOver || (quotas.length > 0 && quotas.every(over)) ? OVER_LIMIT : OK;
  }

  #add(name: string, count: number): void {
    if (count !== 0) this.statistics[name] = (this.statistics[name] ?? 0) + count;
  }
}

const NOTHING: Applied = {
  kind: 'none',
  limit: { name: '', replaces: [], requestsPerUnit: 0 },
  unit: 0,
  shadow: false,
  quota: false,
  metricKey: '',
  cacheKey: '',
  hits: 0,
  isRefund: false,
};

/** What the limit of the request's own gives; null when there is none. The cache key lacks its window and hits. */
function ownLimit(domain: string, { entries, limit }: RequestDescriptor): Applied | null {
  if (limit === null) return null;
  const parts = entries.map(({ key, value }) => (value === '' ? key : `${key}_${value}`));
  return {
    ...NOTHING,
    kind: 'limited',
    limit: { ...NOTHING.limit, requestsPerUnit: limit.requestsPerUnit },
    unit: limit.unit,
    metricKey: sanitiseStatName(`${domain}.${parts.join('.')}`),
    cacheKey: `${domain}_${entries.map(({ key, value }) => `${key}_${value}_`).join('')}`,
  };
}

/** What the configured rules give, likewise. */
function ruleLimit(domain: DomainRules, { entries }: RequestDescriptor): Applied {
  const levels = slowMatch(domain.entries, entries);
  const entry = levels?.at(-1)?.entry;
  const limit = entry?.limits.at(0);
  if (!levels || !entry || !limit) return NOTHING;
  return {
    kind: limit.unlimited ? 'unlimited' : 'limited',
    limit,
    unit: limit.unit === null ? 0 : UNIT_NUMBERS[limit.unit],
    shadow: entry.shadowMode,
    quota: entry.quotaMode,
    metricKey: sanitiseStatName(slowMetricKey(domain.name, levels)),
    cacheKey: `${domain.name}_${slowCacheText(levels)}`,
    hits: 0,
    isRefund: false,
  };
}

/** What a field of 32 bits says of a number. */
function in32Bits(number: number): number {
  return Math.min(number, 4_294_967_295);
}
