import { formatMegabytes } from '../../support/table.ts';
import { type Census, COUNTERS, type ServerReport } from './server-report.ts';

/** What is known of the server without any client: when it had just started, after the warm-up, and at the end. */
export interface Calms {
  readonly started: { readonly report: ServerReport; readonly census: Census };
  readonly warm: { readonly report: ServerReport };
  readonly end: { readonly report: ServerReport; readonly census: Census };
  /** After the server was stopped. */
  readonly stopped: { readonly report: ServerReport; readonly census: Census };
}

/**
 * How much may come on top between the warm-up and the end. Code that is compiled and feedback for the compiler count
 * as heap and still grow a little; a leak of one object for a thousand calls is far beyond.
 */
const GROWTH = {
  heapBytes: { share: 0.05, bytes: 1_000_000 },
  bufferBytes: { share: 0.05, bytes: 1_000_000 },
  // The allocator keeps pages, and how many is not ours to say.
  rssBytes: { share: 0.25, bytes: 20_000_000 },
} as const;

/** One sentence for each thing that is left behind or has grown; none when the server is as it was. */
export function verdict({ started, warm, end, stopped }: Calms): string[] {
  return [
    ...leftOver('without clients', end.report, started.report),
    ...census('without clients', end.census, started.census),
    ...leftOver('after the stop', stopped.report, { ...started.report, timers: 0, sockets: 0 }),
    ...census('after the stop', stopped.census, started.census),
    ...growth(warm.report, end.report),
    ...(stopped.report.loggedFaults === 0
      ? []
      : [`the server has logged ${stopped.report.loggedFaults} errors and warnings`]),
  ];
}

function leftOver(when: string, report: ServerReport, allowed: ServerReport): string[] {
  const faults: string[] = [];
  for (const counter of COUNTERS) {
    const value = report.counters[counter];
    if (value !== 0) faults.push(`${when} ${counter} is ${value} and not 0`);
  }
  for (const name of ['timers', 'sockets', 'pendingInMethods'] as const) {
    if (report[name] > allowed[name])
      faults.push(`${when} ${name} is ${report[name]} and not ${allowed[name]}`);
  }
  return faults;
}

function census(when: string, found: Census, allowed: Census): string[] {
  return Object.entries(found)
    .filter(([name, count]) => count > allowed[name])
    .map(([name, count]) => `${when} ${count - allowed[name]} ${name} are still in the heap`);
}

function growth(from: ServerReport, to: ServerReport): string[] {
  return (Object.keys(GROWTH) as (keyof typeof GROWTH)[])
    .filter(name => to[name] > from[name] * (1 + GROWTH[name].share) + GROWTH[name].bytes)
    .map(name => `${name} has grown from ${formatMegabytes(from[name])} to ${formatMegabytes(to[name])} MB`);
}
