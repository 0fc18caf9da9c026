import t from 'tap';
import { FINAL_STATUSES, type HistoryEntry } from '../../../../src/tasks/model/task.ts';
import type { PullOutcome } from '../../../../src/tasks/scheduler/pull/pull-leases.ts';
import type { PutDocument } from '../../../../src/tasks/store/documents.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { ACME, answered, EngineScene, OK, type Process } from '../../../support/tasks/engine-scene.ts';
import { historyQuery, PULLER, taskChange, taskQuery } from '../../../support/tasks/factories.ts';

type Tap = Parameters<EngineScene['process']>[0];

const TENANT_IN_FLIGHT = 12;
const RATE = { limit: 20, perMs: 1_000, burst: 5 };
const OUTCOMES = [
  OK,
  OK,
  answered(500),
  answered(503, { retryAfterMs: 1_000 }),
  answered(422),
  { ...answered(0), kind: 'timed_out' },
] as const;
const CLOSING = new Set([
  ...['succeeded', 'attempt_failed', 'timed_out', 'lease_expired'],
  ...['deferred', 'released', 'canceled', 'no_retry'],
]);

/** Two processes over one store that fails now and then, workers with bounds, tasks that come, end and are canceled. */
class Run {
  readonly random: SeededRandom;
  readonly scene: EngineScene;
  readonly workers: PutDocument<'worker'>[] = [];
  readonly #t: Tap;
  #processes: Process[] = [];
  #stops: Promise<void>[] = [];

  constructor(t: Tap, scene: EngineScene, seed: number) {
    this.#t = t;
    this.scene = scene;
    this.random = new SeededRandom(seed);
  }

  async open(): Promise<void> {
    const bounds = [{ concurrency: 3 }, { rate: RATE }, { noRetryOn: [422] }];
    for (const [at, body] of bounds.entries()) {
      this.workers.push(await this.scene.worker({ name: `push-${at}`, timeoutMs: 5_000, ...body }));
    }
    const pull = { mode: 'pull', url: null, concurrency: 2, leaseMs: 2_000 } as const;
    this.workers.push(await this.scene.worker({ name: 'pull', ...pull }));
    await this.#begin();
    await this.#begin();
  }

  async step(): Promise<void> {
    const { random, scene } = this;
    const process = random.pick(this.#processes);
    const what = random.below(20);
    if (what < 4) await this.#addTasks(process);
    else if (what < 12) this.#answerSome(process);
    else if (what < 14) void this.#pull(process);
    else if (what === 14) await this.#cancelOne(process);
    else if (what === 15 && random.below(4) === 0) this.#fail();
    else if (what === 16 && random.below(6) === 0) await this.#replace(process);
    await scene.pass(1 + random.below(60), 5);
  }

  /** Faults stop: all that was begun must come to an end. */
  async settle(): Promise<void> {
    this.scene.store.fault = () => 'none';
    for (let round = 0; round < 4_000; round++) {
      for (const process of this.#processes) process.deliveries.answerAll();
      if (round % 10 === 0) for (const process of this.#processes) void this.#pull(process);
      await this.scene.pass(50, 10);
      const open = await this.scene.store.counts(ACME, null);
      if (open.scheduled + open.running + open.retry === 0) break;
    }
    await Promise.all(this.#stops);
  }

  async #begin(): Promise<void> {
    const options = { slots: 8, limits: { inFlight: TENANT_IN_FLIGHT }, drainMs: 500 };
    this.#processes.push(await this.scene.process(this.#t, options));
  }

  /** A process stops, whatever it is doing, and another takes its place. */
  async #replace(process: Process): Promise<void> {
    this.#processes = this.#processes.filter(other => other !== process);
    this.#stops.push(process.engine.stop());
    await this.#begin();
  }

  async #addTasks(process: Process): Promise<void> {
    const { random, scene } = this;
    const heardBy = random.below(2) === 0 ? process : undefined;
    const retry = {
      ...this.workers[0].body.retry,
      maxAttempts: 1 + random.below(4),
      baseMs: 100 + random.below(500),
      maxMs: 2_000,
    };
    const runAt = scene.clock.nowMs() + random.below(2_000);
    await scene.add(
      random.pick(this.workers),
      1 + random.below(6),
      { retry, runAt, timeoutMs: 5_000 },
      { heardBy },
    );
  }

  #answerSome(process: Process): void {
    for (const id of process.deliveries.running) {
      if (this.random.below(2) === 0) process.deliveries.answer(id, this.random.pick(OUTCOMES));
    }
  }

  async #pull({ engine: { pullDesk } }: Process): Promise<void> {
    const gone = new AbortController();
    const asked = pullDesk.lease({
      tenant: ACME,
      workerId: this.workers[3].id,
      max: 1 + this.random.below(3),
      waitMs: this.random.below(500),
      leaseMs: null,
      actor: PULLER,
      allowed: async () => {},
      gone: gone.signal,
    });
    if (this.random.below(5) === 0) gone.abort();
    try {
      for (const { leaseId } of await asked) {
        const how = this.random.below(4);
        const error = { code: 'oh', message: 'no' };
        const outcomes: PullOutcome[] = [
          { kind: 'fail', error, retry: true, retryAfterMs: null },
          { kind: 'complete', result: null },
          { kind: 'release', delayMs: 50 },
        ];
        // Otherwise the worker has died.
        if (how < outcomes.length) await pullDesk.leases.end(ACME, leaseId, outcomes[how], PULLER);
      }
    } catch {
      // The store is away: so is the worker.
    }
  }

  async #cancelOne(process: Process): Promise<void> {
    const query = taskQuery({ statuses: ['running', 'scheduled', 'retry'] });
    // Nobody cancels while the store is away.
    const open = await this.scene.store.list(ACME, query).catch(() => []);
    if (open.length === 0) return;
    const { id } = this.random.pick(open);
    await this.scene.store.change(ACME, id, taskChange('cancel'));
    if (this.random.below(2) === 0) process.signals.tell('cancelRequested', ACME, id);
  }

  #fail(): void {
    const { clock } = this.scene;
    const untilMs = clock.nowMs() + this.random.below(3_000);
    this.scene.store.fault = () => {
      if (clock.nowMs() >= untilMs) return 'none';
      return this.random.pick(['none', 'before', 'after'] as const);
    };
  }
}

/** An attempt, as history tells of it. */
interface Attempt {
  readonly workerId: string;
  readonly from: number;
  readonly to: number;
}

t.test('whatever happens, bounds hold and no attempt is lost', { timeout: 60_000 }, async t => {
  for (let seed = 1; seed <= 6; seed++) {
    const scene = await EngineScene.open();
    const run = new Run(t, scene, seed);
    await run.open();
    for (let count = 0; count < 250; count++) await run.step();
    await run.settle();
    const tasks = await scene.store.list(ACME, taskQuery());
    t.ok(tasks.length > 50, `seed ${seed}: ${tasks.length} tasks`);
    const faults: string[] = [];
    const attempts: Attempt[] = [];
    for (const task of tasks) {
      const entries = (await scene.store.history(ACME, task.id, historyQuery())) ?? [];
      attempts.push(...attemptsOf(task.workerId, entries, faults));
      if (!(FINAL_STATUSES as readonly string[]).includes(task.status)) {
        faults.push(`${task.id} is ${task.status}`);
      }
    }
    const { workers } = run;
    faults.push(...overlapFaults('tenant', attempts, TENANT_IN_FLIGHT));
    faults.push(...overlapFaults('push-0', of(attempts, workers[0].id), 3));
    faults.push(...overlapFaults('pull', of(attempts, workers[3].id), 2));
    faults.push(...rateFaults(of(attempts, workers[1].id)));
    t.same(faults, [], `seed ${seed}`);
  }
});

/** Each start is ended once, with its lease, before the next, and none is before its time. */
function attemptsOf(workerId: string, entries: readonly HistoryEntry[], faults: string[]): Attempt[] {
  const attempts: Attempt[] = [];
  let open: HistoryEntry | null = null;
  let dueAt = 0;
  for (const entry of entries) {
    const place = `${entry.event} (${entry.seq}) of a task of ${workerId}`;
    if (entry.event === 'started') {
      if (open !== null) faults.push(`${place} comes while an attempt is open`);
      if (entry.at < dueAt) faults.push(`${place} is ${dueAt - entry.at} ms early`);
      open = entry;
    } else if (CLOSING.has(entry.event) && entry.from === 'running') {
      if (open?.leaseIdSuffix !== entry.leaseIdSuffix) faults.push(`${place} ends another lease`);
      if (open !== null) attempts.push({ workerId, from: open.at, to: entry.at });
      open = null;
    }
    dueAt = entry.nextAttemptAt ?? dueAt;
  }
  if (open !== null) faults.push(`an attempt of a task of ${workerId} is open for ever`);
  return attempts;
}

function of(attempts: readonly Attempt[], workerId: string): Attempt[] {
  return attempts.filter(attempt => attempt.workerId === workerId);
}

function overlapFaults(whose: string, attempts: readonly Attempt[], bound: number): string[] {
  const most = Math.max(
    0,
    ...attempts.map(({ from }) => attempts.filter(other => other.from <= from && other.to > from).length),
  );
  return most > bound ? [`${whose}: ${most} attempts at once`] : [];
}

function rateFaults(attempts: readonly Attempt[]): string[] {
  const starts = attempts.map(({ from }) => from).sort((a, b) => a - b);
  for (let first = 0; first < starts.length; first++) {
    for (let last = first; last < starts.length; last++) {
      const allowed = RATE.burst + ((starts[last] - starts[first]) * RATE.limit) / RATE.perMs;
      if (last - first + 1 > allowed + 1e-6) {
        return [`${last - first + 1} starts in ${starts[last] - starts[first]} ms`];
      }
    }
  }
  return [];
}
