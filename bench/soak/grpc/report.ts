import { formatMegabytes, formatNumber, formatRow, formatTable } from '../../support/table.ts';
import type { Census, ServerReport } from './server-report.ts';
import type { Tally } from './tally.ts';

/** What is known of one second. */
export interface Second {
  /** Seconds since the start. */
  readonly at: number;
  /** What the clients were told to do. */
  readonly phase: string;
  readonly callsPerSecond: number;
  readonly server: ServerReport;
}

const HEAD = [
  's',
  'phase',
  'calls/s',
  'connections',
  'streams',
  'deadlines',
  'held B',
  'queued B',
  'timers',
  'sockets',
  'heap MB',
  'buffers MB',
  'RSS MB',
];
const WIDTHS = HEAD.map((title, column) => Math.max(title.length, column === 0 ? 4 : 7));

export function secondsHead(): string {
  return formatRow(HEAD, WIDTHS);
}

export function secondLine({ at, phase, callsPerSecond, server }: Second): string {
  const { counters } = server;
  const cells = [
    String(at),
    phase,
    formatNumber(callsPerSecond),
    formatNumber(counters.connectionCount),
    formatNumber(counters.streamCount),
    formatNumber(counters.deadlineCount),
    formatNumber(counters.heldBytes),
    formatNumber(counters.queuedBytes),
    formatNumber(server.timers),
    formatNumber(server.sockets),
    formatMegabytes(server.heapBytes),
    formatMegabytes(server.bufferBytes),
    formatMegabytes(server.rssBytes),
  ];
  return formatRow(cells, WIDTHS);
}

/** What was done, and how many objects of each class were in the heap at the start and at the end. */
export function closingTables(tally: Tally, started: Census, end: Census): string[] {
  const kinds = [...tally.begun].map(([name, count]) => [name, formatNumber(count)]);
  const objects = Object.keys(end).map(name => [name, formatNumber(started[name]), formatNumber(end[name])]);
  return [
    ...formatTable(['calls', 'begun'], kinds),
    `${formatNumber(tally.ended)} ended by the server, ${formatNumber(tally.dropped)} open when their ` +
      `connection was left; ${formatNumber(tally.connections)} connections, ${formatNumber(tally.pings)} pings`,
    '',
    ...formatTable(['objects in the heap, with prototypes', 'at the start', 'at the end'], objects),
  ];
}
