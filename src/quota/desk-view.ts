import { setImmediate as nextTurn } from 'node:timers/promises';
import { FirstOf } from '../base/collections/first-of.ts';
import type { DescriptorEntry } from '../messages/client-codec.ts';
import type { PrepaidLimit } from './prepaid-limit.ts';
import type { QuotaBucket, Verdict } from './quota-bucket.ts';
import type { QuotaDesk } from './quota-desk.ts';
import type { Subscriber, Told } from './subscriber.ts';

/** Proxies of buckets to look at before other work may run: less than a millisecond. */
const PROXIES_AT_ONCE = 5_000;

/** What is asked of a desk. */
export interface DeskQuestion {
  /** Only buckets of this domain; null for all. */
  readonly domain: string | null;
  /** Only these buckets; null for those with the most demand. */
  readonly names: readonly string[] | null;
  /** Maximum number of buckets, and of the proxies of each one. */
  readonly most: number;
  readonly mostProxies: number;
}

/** A desk as plain data. It can be sent to another thread. All rates are requests per second. */
export interface DeskView {
  /** Open streams, of the domain if one was asked for. */
  readonly streams: number;
  /** Of all buckets of the question, also those that are not listed. A proxy counts once for each of its buckets. */
  readonly totals: UsageView & { readonly buckets: number; readonly proxies: number };
  /** With the most demand first. */
  readonly buckets: readonly BucketView[];
}

/** What proxies report, in requests per second: how many they get, allow and deny. */
export interface UsageView {
  readonly demand: number;
  readonly allowed: number;
  readonly denied: number;
}

/** A bucket of a desk. */
export interface BucketView extends UsageView {
  /** Names the bucket among all others; see `bucketName`. */
  readonly name: string;
  readonly domain: string;
  /** In the order in which the rules have their keys. */
  readonly entries: readonly DescriptorEntry[];
  readonly verdict: Verdict;
  /** Whether the rule has limits that cannot be divided among proxies. */
  readonly isUnserved: boolean;
  /** In the order of the rule. */
  readonly limits: readonly LimitView[];
  /** How long a grant lasts, and the interval in which its tokens are filled, in seconds. */
  readonly grantS: number;
  readonly intervalS: number;
  /** What all proxies together may be granted; null if nothing is divided. */
  readonly rate: number | null;
  /** What no proxy may exceed; null if proxies want less than there is. */
  readonly cap: number | null;
  /** When proxies that were denied everything can get something. Null if no proxy waits for that. */
  readonly retryMs: number | null;
  readonly proxyCount: number;
  /** With the most demand first. */
  readonly proxies: readonly ProxyView[];
}

/** A limit of a bucket, in hits. */
export interface LimitView {
  readonly total: number;
  /** The part of it that grants may use; null if the limit never refuses. */
  readonly grantable: number | null;
  /** In how many milliseconds the limit has room for as much again; null for a token bucket. */
  readonly lengthMs: number | null;
  /** The present window; null for a limit with a level, or if nothing was paid in it. */
  readonly window: { readonly fromMs: number; readonly toMs: number } | null;
  /** Of the present window; see `PrepaidWindow`. Of a limit with a level: what is paid for requests that were not reported. */
  readonly paid: number;
  /** Null for a limit with a level, in which it is not known which of the hits still count. */
  readonly spent: number | null;
  readonly unreported: number;
  /** Null if the store has not said it. */
  readonly left: number | null;
  /** Paid in windows that have not begun. */
  readonly paidAhead: number;
}

/** A proxy in a bucket. */
export interface ProxyView extends UsageView {
  /** Its address; empty for a unix socket. */
  readonly peer: string;
  readonly told: Told;
  /** The active token bucket. Null if the proxy has none. */
  readonly grant: { readonly tokens: number; readonly intervalS: number; readonly endMs: number } | null;
  /** When it last reported; 0 if its report was not looked at yet. */
  readonly reportedMs: number;
}

interface Figured extends UsageView {
  readonly bucket: QuotaBucket;
}

/** Looks at a desk without changing it. */
export async function lookAtDesk(
  { streams, buckets }: Pick<QuotaDesk, 'streams' | 'buckets'>,
  { domain, names, most, mostProxies }: DeskQuestion,
  nowMs: number,
): Promise<DeskView> {
  const isOfDomain = (each: { readonly domain: string }) => domain === null || each.domain === domain;
  const wanted = names === null ? null : new Set(names);
  const first = new FirstOf<Figured>(most, byDemandOfBucket);
  const totals = { demand: 0, allowed: 0, denied: 0, buckets: 0, proxies: 0 };
  const pace = new Pace();
  for (const bucket of buckets) {
    if (pace.isDue(bucket)) await nextTurn();
    if (!isOfDomain(bucket) || wanted?.has(bucket.name) === false) continue;
    const figured = figuredBucket(bucket);
    totals.buckets++;
    totals.proxies += bucket.subscribers.size;
    totals.demand += figured.demand;
    totals.allowed += figured.allowed;
    totals.denied += figured.denied;
    first.add(figured);
  }
  const listed: BucketView[] = [];
  for (const figured of first.sorted()) {
    if (pace.isDue(figured.bucket)) await nextTurn();
    listed.push(bucketView(figured, mostProxies, nowMs));
  }
  return { streams: [...streams].filter(isOfDomain).length, totals, buckets: listed };
}

/** Says when other work should run. */
class Pace {
  /** Proxies and buckets since then. */
  #looked = 0;

  /** @param bucket the one that is looked at next */
  isDue({ subscribers }: QuotaBucket): boolean {
    this.#looked += 1 + subscribers.size;
    if (this.#looked < PROXIES_AT_ONCE) return false;
    this.#looked = 0;
    return true;
  }
}

function figuredBucket(bucket: QuotaBucket): Figured {
  let allowed = 0;
  let denied = 0;
  for (const { usage } of bucket.subscribers) {
    allowed += usage.allowed;
    denied += usage.denied;
  }
  // A sum of rates that were added and taken away may be a rounding error below 0.
  return { bucket, demand: Math.max(0, bucket.demand), allowed, denied };
}

function byDemandOfBucket(a: Figured, b: Figured): number {
  return b.demand - a.demand || (a.bucket.name < b.bucket.name ? -1 : 1);
}

function bucketView({ bucket, ...usage }: Figured, mostProxies: number, nowMs: number): BucketView {
  const { name, domain, descriptor, verdict, isUnserved, limits, ttlS, intervalS, rate, cap, retryMs } =
    bucket;
  const proxies = [...bucket.subscribers].sort((a, b) => b.demand - a.demand).slice(0, mostProxies);
  return {
    ...usage,
    name,
    domain,
    entries: descriptor.map(({ key, value }) => ({ key, value })),
    verdict,
    isUnserved,
    limits: limits.map(limit => limitView(limit, nowMs)),
    grantS: ttlS,
    intervalS,
    rate: verdict === 'divided' ? finite(rate) : null,
    cap: verdict === 'divided' ? finite(cap) : null,
    retryMs: finite(retryMs),
    proxyCount: bucket.subscribers.size,
    proxies: proxies.map(proxy => proxyView(proxy, nowMs)),
  };
}

function limitView(limit: PrepaidLimit, nowMs: number): LimitView {
  const { facts, windows, hasLevel } = limit;
  const present = windows.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  const { fromMs = 0, toMs = 0, paid = 0, spent = 0, unreported = 0, left = Number.NaN } = present ?? {};
  let paidAhead = 0;
  for (const window of windows) if (window.fromMs > nowMs) paidAhead += window.paid;
  return {
    total: facts.total,
    grantable: finite(facts.grantable),
    lengthMs: finite(facts.lengthMs),
    window: present === undefined || hasLevel ? null : { fromMs, toMs },
    paid: hasLevel ? Math.max(0, paid - spent) : paid,
    spent: hasLevel ? null : spent,
    unreported: Math.max(0, unreported),
    left: finite(left),
    paidAhead,
  };
}

function proxyView(subscriber: Subscriber, nowMs: number): ProxyView {
  const { stream, told, demand, usage, reportedMs } = subscriber;
  const active = subscriber.activeAt(nowMs);
  const { allowed, denied } = usage;
  return {
    peer: stream.peer,
    told,
    demand,
    allowed,
    denied,
    grant: active && { tokens: active.tokens, intervalS: active.intervalS, endMs: active.endMs },
    reportedMs,
  };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
