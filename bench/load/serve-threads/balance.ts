/** What one serving thread has done, as the debug port of the service shows it. */
export interface ThreadWork {
  /** Number of the thread. */
  readonly thread: number;
  /** Open connections. */
  readonly connections: number;
  /** Requests decided since it started. */
  readonly decisions: number;
}

const LINE = /^ratelimit\.service\.serving_thread\.(\d+)\.(connections|decisions): (\d+)$/gm;

/** The serving threads in the text of `/stats`, by their numbers; none if the primary thread serves everything. */
export function threadsOnPage(page: string): ThreadWork[] {
  const threads = new Map<number, { connections: number; decisions: number }>();
  for (const [, number, name, value] of page.matchAll(LINE)) {
    const thread = Number(number);
    const found = threads.get(thread) ?? { connections: 0, decisions: 0 };
    found[name as keyof typeof found] = Number(value);
    threads.set(thread, found);
  }
  return [...threads].map(([thread, work]) => ({ thread, ...work })).sort((a, b) => a.thread - b.thread);
}

/** The work between two pages: the connections of the second one, and the decisions since the first one. */
export function workBetween(before: readonly ThreadWork[], after: readonly ThreadWork[]): ThreadWork[] {
  return after.map(({ thread, connections, decisions }) => {
    const earlier = before.find(each => each.thread === thread)?.decisions ?? 0;
    return { thread, connections, decisions: decisions - earlier };
  });
}

/** The share of the thread that has the most; NaN if there are no threads, or if they have nothing. */
export function busiestShare(threads: readonly ThreadWork[], of: 'connections' | 'decisions'): number {
  const values = threads.map(each => each[of]);
  const total = values.reduce((sum, value) => sum + value, 0);
  return total === 0 ? Number.NaN : Math.max(...values) / total;
}
