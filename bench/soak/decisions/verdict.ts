import { median } from '../../support/statistics.ts';
import { formatMegabytes } from '../../support/table.ts';
import type { HeapSample } from './service-memory.ts';

/** What happens in a second: `load` is what is judged, with all of it warm; then some clients do not read, then they leave. */
export type Phase = 'warm-up' | 'load' | 'silent clients' | 'after';

/** What is known of one second. */
export interface Second {
  /** Seconds since the start. */
  readonly at: number;
  readonly phase: Phase;
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
  /** All of the process, its threads included. */
  readonly rssBytes: number;
  /** Null in the seconds in which garbage was not collected. */
  readonly heap: HeapSample | null;
}

/** What may come on top from the first third of the load to the last. */
const GROWTH = {
  'the heap': { share: 0.05, bytes: 1_000_000 },
  'memory outside of the heap': { share: 0.05, bytes: 1_000_000 },
  // The allocator keeps pages, and how many is not ours to say.
  RSS: { share: 0.1, bytes: 10_000_000 },
} as const;
type Measure = keyof typeof GROWTH;

const VALUE: Readonly<Record<Measure, (second: Second) => number | null>> = {
  'the heap': ({ heap }) => heap?.heapBytes ?? null,
  'memory outside of the heap': ({ heap }) => heap?.externalBytes ?? null,
  RSS: ({ rssBytes }) => rssBytes,
};

/**
 * What the service may hold for one client that does not read: 1 000 calls whose answers wait for its windows, or the
 * output that stops its input.
 */
export const BYTES_A_SILENT_CLIENT = 2_000_000;

/** One sentence for each way in which memory has grown that it must not; none when all is well. */
export function verdict(seconds: readonly Second[], silentClients: number): string[] {
  const load = seconds.filter(({ phase }) => phase === 'load');
  const third = Math.ceil(load.length / 3);
  const early = load.slice(0, third);
  const late = load.slice(-third);
  return [
    ...(Object.keys(GROWTH) as Measure[]).flatMap(measure => growthFault(measure, early, late)),
    ...silentFault(
      late,
      seconds.filter(({ phase }) => phase === 'silent clients'),
      silentClients,
    ),
    ...leftFault(
      late,
      seconds.filter(({ phase }) => phase === 'after'),
    ),
  ];
}

/** The median of a measure over some seconds; NaN when none has it. */
export function typical(measure: Measure, seconds: readonly Second[]): number {
  return median(seconds.map(VALUE[measure]).filter(value => value !== null));
}

function growthFault(measure: Measure, early: readonly Second[], late: readonly Second[]): string[] {
  const [from, to] = [typical(measure, early), typical(measure, late)];
  const { share, bytes } = GROWTH[measure];
  if (!(to > from * (1 + share) + bytes)) return [];
  return [`under load ${measure} has grown from ${formatMegabytes(from)} to ${formatMegabytes(to)} MB`];
}

function silentFault(before: readonly Second[], during: readonly Second[], clients: number): string[] {
  const from = typical('RSS', before);
  const to = Math.max(...during.map(({ rssBytes }) => rssBytes));
  if (!(to > from + clients * BYTES_A_SILENT_CLIENT)) return [];
  return [
    `${clients} clients that do not read have raised RSS from ${formatMegabytes(from)} to ${formatMegabytes(to)} MB`,
  ];
}

/** RSS is left out: pages that a process once had it seldom gives back. */
function leftFault(before: readonly Second[], after: readonly Second[]): string[] {
  return (['the heap', 'memory outside of the heap'] as const).flatMap(measure => {
    const [from, to] = [typical(measure, before), typical(measure, after.slice(-1))];
    const { share, bytes } = GROWTH[measure];
    if (!(to > from * (1 + share) + 2 * bytes)) return [];
    return [
      `after the clients that did not read ${measure} is ${formatMegabytes(to)} MB, before them ${formatMegabytes(from)} MB`,
    ];
  });
}
