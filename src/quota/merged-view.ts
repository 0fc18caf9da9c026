import { FirstOf } from '../base/collections/first-of.ts';
import type { BucketView, DeskQuestion, DeskView, LimitView } from './desk-view.ts';

/** The desks of all threads of a process. */
export interface ProcessQuotas {
  readonly view: DeskView;
  /** False if a thread did not answer in time. */
  readonly isComplete: boolean;
}

/** Looks at the desks of all threads of a process. */
export type LookAtQuotas = (question: DeskQuestion) => Promise<ProcessQuotas>;

/**
 * The desks of several threads as one. A bucket of several desks has the sums of its figures, and what has to be the same
 * in all of them from the one with the most demand.
 */
export function mergedView(
  views: readonly DeskView[],
  { most, mostProxies }: Pick<DeskQuestion, 'most' | 'mostProxies'>,
): DeskView {
  const totals = { demand: 0, allowed: 0, denied: 0, buckets: 0, proxies: 0 };
  const byName = new Map<string, BucketView[]>();
  let buckets = 0;
  let listed = 0;
  for (const view of views) {
    totals.demand += view.totals.demand;
    totals.allowed += view.totals.allowed;
    totals.denied += view.totals.denied;
    totals.proxies += view.totals.proxies;
    buckets += view.totals.buckets;
    listed += view.buckets.length;
    for (const bucket of view.buckets) byName.set(bucket.name, [...(byName.get(bucket.name) ?? []), bucket]);
  }
  // Of buckets that are not listed, nobody knows which ones are the same.
  totals.buckets = byName.size + buckets - listed;
  const first = new FirstOf<BucketView>(most, byDemand);
  for (const same of byName.values()) first.add(mergedBucket(same, mostProxies));
  const streams = views.reduce((sum, view) => sum + view.streams, 0);
  return { streams, totals, buckets: first.sorted() };
}

function byDemand(a: BucketView, b: BucketView): number {
  return b.demand - a.demand || (a.name < b.name ? -1 : 1);
}

function mergedBucket(same: readonly BucketView[], mostProxies: number): BucketView {
  const [main, ...others] = [...same].sort(byDemand);
  if (others.length === 0) return main;
  const sum = (of: (bucket: BucketView) => number) => same.reduce((total, each) => total + of(each), 0);
  const retries = same.flatMap(({ retryMs }) => (retryMs === null ? [] : [retryMs]));
  const proxies = same.flatMap(bucket => bucket.proxies).sort((a, b) => b.demand - a.demand);
  return {
    ...main,
    demand: sum(({ demand }) => demand),
    allowed: sum(({ allowed }) => allowed),
    denied: sum(({ denied }) => denied),
    retryMs: retries.length === 0 ? null : Math.min(...retries),
    proxyCount: sum(({ proxyCount }) => proxyCount),
    proxies: proxies.slice(0, mostProxies),
    limits: main.limits.map((limit, i) =>
      mergedLimit([limit, ...others.flatMap(({ limits }) => limits[i] ?? [])]),
    ),
  };
}

/**
 * What threads have paid in the same window is added. A thread that has not paid in the latest one adds nothing, and what
 * was left when a thread has asked may be paid by another one since.
 */
function mergedLimit(same: readonly LimitView[]): LimitView {
  const latestMs = Math.max(...same.map(startOf));
  const present = same.filter(limit => startOf(limit) === latestMs);
  const [{ grantable, spent }] = present;
  const sum = (of: (limit: LimitView) => number) => present.reduce((total, each) => total + of(each), 0);
  const paid = sum(limit => limit.paid);
  const left = present.flatMap(limit => (limit.left === null ? [] : [limit.left]));
  return {
    ...present[0],
    paid,
    spent: spent === null ? null : sum(limit => limit.spent ?? 0),
    unreported: sum(({ unreported }) => unreported),
    left:
      left.length === 0
        ? null
        : Math.max(0, Math.min(...left, (grantable ?? Number.POSITIVE_INFINITY) - paid)),
    paidAhead: same.reduce((total, { paidAhead }) => total + paidAhead, 0),
  };
}

function startOf({ window }: LimitView): number {
  return window?.fromMs ?? 0;
}
