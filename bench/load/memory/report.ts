import { formatMegabytes, formatNumber, formatTable } from '../../support/table.ts';
import { CASES, type CaseName, type CaseResult } from './cases.ts';
import type { ProcessMemory } from './process-memory.ts';

/** What decisions alone may take, in bytes. */
const WANTED = { rest: 90e6, peak: 140e6 } as const;

const HEAD = ['', 'RSS MB', 'own MB', 'code MB', 'threads', 'requests/s', 'wanted MB', ''];

/** A row for each phase of each case. */
export function memoryTable(results: readonly CaseResult[]): string[] {
  const rows = results.flatMap(result => {
    const { name, started, rest, peak, after, requestsPerSecond } = result;
    return [
      [CASES[name].title],
      row('  2 s after the start', started),
      row('  at rest', rest, wanted(name, 'rest', rest)),
      row('  100 000 keys, 8 × 32', peak, [
        formatNumber(requestsPerSecond),
        ...wanted(name, 'peak', peak).slice(1),
      ]),
      row('  at rest again', after),
    ];
  });
  return formatTable(HEAD, rows);
}

function row(title: string, memory: ProcessMemory, more: readonly string[] = []): string[] {
  const { rssBytes, ownBytes, fileBytes, threads } = memory;
  return [
    title,
    ...[rssBytes, ownBytes, fileBytes].map(bytes => formatMegabytes(bytes)),
    String(threads),
    ...more,
  ];
}

/** The cells from the rate on. */
function wanted(name: CaseName, phase: 'rest' | 'peak', { rssBytes }: ProcessMemory): string[] {
  if (CASES[name].tasks !== null) return ['', '', ''];
  const bound = WANTED[phase];
  return ['', `at most ${formatMegabytes(bound, 0)}`, rssBytes <= bound ? 'met' : 'missed'];
}
