import { LatencyHistogram, type LatencySummary } from '../../support/latency-histogram.ts';

export interface LoopFigures {
  readonly perSecond: number;
  readonly latency: LatencySummary;
}

/**
 * So many callers at once, each of which asks again when it has its answer.
 *
 * @param ask does one request; `units` is what one counts for, such as the tasks of a batch
 */
export async function closedLoop(
  {
    callers,
    warmUpMs,
    measuredMs,
    units = 1,
  }: {
    readonly callers: number;
    readonly warmUpMs: number;
    readonly measuredMs: number;
    readonly units?: number;
  },
  ask: () => Promise<unknown>,
): Promise<LoopFigures> {
  const histogram = new LatencyHistogram();
  let counted = 0;
  const startMs = performance.now() + warmUpMs;
  const endMs = startMs + measuredMs;
  const caller = async (): Promise<void> => {
    for (;;) {
      const askedMs = performance.now();
      if (askedMs >= endMs) return;
      await ask();
      const answeredMs = performance.now();
      if (askedMs < startMs || answeredMs > endMs) continue;
      counted += units;
      histogram.record(answeredMs - askedMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { perSecond: counted / (measuredMs / 1_000), latency: histogram.summary() };
}

/** Runs `ask` for each number below `count`, so many at once. */
export async function forEachNumber(
  count: number,
  atOnce: number,
  ask: (number: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await ask(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
}

/** Runs `ask` at a steady rate for so long, whether or not answers come. Resolves when all have come. */
export async function paced(
  perSecond: number,
  forMs: number,
  ask: (number: number) => Promise<unknown>,
): Promise<void> {
  const begun = performance.now();
  const open: Promise<unknown>[] = [];
  const total = Math.round((perSecond * forMs) / 1_000);
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - begun) * perSecond) / 1_000));
    for (; sent < due; sent++) open.push(ask(sent));
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  await Promise.all(open);
}
