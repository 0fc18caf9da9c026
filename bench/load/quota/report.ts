import { median } from '../../support/statistics.ts';
import { formatNumber, formatTable } from '../../support/table.ts';
import { CONTESTANTS } from '../decisions/contestants.ts';
import type { QuotaFigures, QuotaResult, QuotaRound } from './measure.ts';

const HEAD = [
  'quotas',
  'reports/s',
  'CPU µs',
  'busy %',
  'store %',
  'generator %',
  'half: reports/s',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  'bytes',
  'start ms',
  'late %',
];

/** The medians of all cases: as many reports as are answered, and half of that. */
export function quotaTable(results: readonly QuotaResult[]): string[] {
  const rows = results.map(
    ({ case: { store, unit, proxies }, bytesPerBucket, startMs, unanswered, rounds }) => {
      const of = (part: keyof QuotaRound, figure: keyof QuotaFigures): number =>
        median(rounds.map(round => round[part][figure]));
      return [
        `${CONTESTANTS[store].title}, ${unit}, ${formatNumber(proxies.count)} × ${formatNumber(proxies.buckets)}`,
        formatNumber(of('peak', 'reportsPerSecond')),
        formatNumber(of('peak', 'cpuMicros'), 2),
        formatNumber(of('peak', 'busy') * 100),
        formatNumber(of('peak', 'storeBusy') * 100),
        formatNumber(of('peak', 'generatorBusy') * 100),
        formatNumber(of('half', 'reportsPerSecond')),
        formatNumber(of('half', 'p50Ms'), 1),
        formatNumber(of('half', 'p99Ms'), 1),
        formatNumber(of('half', 'cpuMicros'), 2),
        formatNumber(bytesPerBucket),
        formatNumber(startMs),
        formatNumber(unanswered * 100, 1),
      ];
    },
  );
  return formatTable(HEAD, rows);
}
