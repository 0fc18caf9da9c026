import { setTimeout as sleep } from 'node:timers/promises';
import { Field } from '../decisions/field.ts';
import { PATTERNS, templateOf } from '../decisions/patterns.ts';
import { CONNECTIONS } from '../decisions/scenario.ts';
import { type ProcessMemory, processMemory } from './process-memory.ts';
import { taskSettings } from './task-settings.ts';

/** What is measured: the service on a store, with or without tasks. */
export const CASES = {
  embedded: { title: 'embedded', store: 'embedded', tasks: null },
  redis: { title: 'Redis', store: 'redis', tasks: null },
  'embedded-tasks': { title: 'embedded, tasks in SQLite', store: 'embedded', tasks: 'sqlite' },
  'redis-tasks': { title: 'Redis, tasks in Redis', store: 'redis', tasks: 'redis' },
} as const;
export type CaseName = keyof typeof CASES;

/** Seconds of each phase. */
export interface Seconds {
  /** From the start to "at rest", and from the end of the load to "after". */
  readonly rest: number;
  readonly load: number;
}

export interface CaseResult {
  readonly name: CaseName;
  /** Two seconds after the ports are open. */
  readonly started: ProcessMemory;
  readonly rest: ProcessMemory;
  /** The largest value of each second under load. */
  readonly peak: ProcessMemory;
  readonly after: ProcessMemory;
  readonly requestsPerSecond: number;
}

const STARTED_MS = 2_000;

/** Starts the service, lets it rest, loads it with 100 000 keys at 8 × 32, and lets it rest again. */
export async function measureCase(name: CaseName, seconds: Seconds, folder: string): Promise<CaseResult> {
  const { store, tasks } = CASES[name];
  const settings = tasks === null ? null : await taskSettings(tasks, folder);
  try {
    const field = await Field.start({
      contestants: [store],
      workers: null,
      env: settings?.env ?? {},
      folder,
    });
    try {
      return { name, ...(await phases(field, store, seconds)) };
    } finally {
      await field.stop();
    }
  } finally {
    await settings?.stop();
  }
}

async function phases(
  field: Field,
  store: 'embedded' | 'redis',
  seconds: Seconds,
): Promise<Omit<CaseResult, 'name'>> {
  const running = field.of(store);
  const memory = (): ProcessMemory => processMemory(running.watched['service']);
  await sleep(STARTED_MS);
  const started = memory();
  await sleep(seconds.rest * 1_000);
  const rest = memory();
  const generator = field.grpcGenerator;
  await generator.ask('start', {
    port: running.grpcPort,
    ...CONNECTIONS['8x32'],
    watched: running.watched,
    template: templateOf(PATTERNS.keys),
    expectedCode: PATTERNS.keys.code,
    callsPerSecond: null,
  });
  let peak = memory();
  for (let second = 0; second < seconds.load; second++) {
    await sleep(1_000);
    const now = memory();
    if (now.rssBytes > peak.rssBytes) peak = now;
  }
  const window = await generator.ask('mark');
  await generator.ask('finish');
  await sleep(seconds.rest * 1_000);
  return {
    started,
    rest,
    peak,
    after: memory(),
    requestsPerSecond: window.latency.count / window.seconds,
  };
}
