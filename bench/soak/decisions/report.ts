import { formatMegabytes, formatNumber, formatRow } from '../../support/table.ts';
import type { Second } from './verdict.ts';

const HEAD = ['s', 'phase', 'requests/s', 'p99 ms', 'RSS MB', 'heap MB', 'outside MB'];
const WIDTHS = [4, 14, 10, 9, 8, 8, 10];

export function secondsHead(): string {
  return formatRow(HEAD, WIDTHS);
}

export function secondLine({ at, phase, requestsPerSecond, p99Ms, rssBytes, heap }: Second): string {
  const cells = [
    String(at),
    phase,
    formatNumber(requestsPerSecond),
    formatNumber(p99Ms, 2),
    formatMegabytes(rssBytes),
    heap === null ? '-' : formatMegabytes(heap.heapBytes),
    heap === null ? '-' : formatMegabytes(heap.externalBytes),
  ];
  return formatRow(cells, WIDTHS);
}
