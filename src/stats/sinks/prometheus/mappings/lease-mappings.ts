import { type Mapping, PLAIN_MAPPING } from '../mapping.ts';
import { counter, labelled } from './mapping-of.ts';

/** The rows of statistics of limits with leases, by the last level of their names. */
const LEASE_STATS = {
  held: 'Hits that leases have held.',
  settled: 'Hits that were spent when leases were settled, or slots that were released.',
  expired: 'Hits of leases that ended without being settled.',
  overdrawn: 'Hits by which settlements exceeded what their leases had held.',
};

/**
 * Mappings of what happens to leases. They come before those of rules, which would add these hits to the hits of the rule. As
 * there, a rule with more than two levels is added to the series of its first two levels.
 */
export const LEASE_MAPPINGS: readonly Mapping[] = [
  ...Object.entries(LEASE_STATS).map(([stat, help]) =>
    counter(`ratelimit.service.rate_limit.*.*.${stat}.total_hits`, `sluice_lease_${stat}_hits_total`, help, {
      labels: labelled('domain', 'key1'),
    }),
  ),
  deeperLevels(Object.keys(LEASE_STATS)),
];

function deeperLevels(stats: readonly string[]): Mapping {
  const part = '([^.]*)';
  const levels = `${part}\\.${part}\\.${part}(?:\\..+)?`;
  const pattern = `^ratelimit\\.service\\.rate_limit\\.${levels}\\.(${stats.join('|')})\\.total_hits$`;
  return {
    ...PLAIN_MAPPING,
    kind: 'counter',
    match: { pattern: new RegExp(pattern) },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of mappings, whose name of a group ends here.
    name: 'sluice_lease_${4}_hits_total',
    labels: labelled('domain', 'key1', 'key2'),
  };
}
