// Parts of the queries of the dashboard. The variables $job, $instance and $domain are those of the dashboard.

/** The calls of counter stores. */
export const CALLS = 'sluice_store_call_duration_seconds';

const OURS = 'job=~"$job",instance=~"$instance"';

/** A metric of the chosen instances, with more matchers. */
export function of(metric, ...matchers) {
  return `${metric}{${[OURS, ...matchers].join(',')}}`;
}

/** How fast a counter increases, per second. */
export function rate(metric, ...matchers) {
  return `rate(${of(metric, ...matchers)}[$__rate_interval])`;
}

/** The same for hits of limits, which have a domain. */
export function hits(statistic) {
  return rate(`ratelimit_service_rate_limit_${statistic}`, 'domain=~"$domain"');
}

/** The same for hits of leases. Few limits have leases, so 0 if there are none. */
export function leasedHits(statistic) {
  return `sum(${rate(`sluice_lease_${statistic}_hits_total`, 'domain=~"$domain"')}) or vector(0)`;
}

/** One query for each quantile of a histogram, named after it: `p50`, or `p50 redis` with a label. */
export function quantiles(metric, shares, { by, matchers = [] } = {}) {
  const labels = by === undefined ? 'le' : `${by}, le`;
  const buckets = `sum by (${labels}) (${rate(`${metric}_bucket`, ...matchers)})`;
  return shares.map(share => ({
    expr: `histogram_quantile(${share}, ${buckets})`,
    legend: `p${Math.round(share * 1_000) / 10}${by === undefined ? '' : ` {{${by}}}`}`,
  }));
}
