import type { Clock } from '../../../base/clock.ts';
import { asError, StacklessError } from '../../../base/fault.ts';
import type { Health } from '../../../base/health.ts';
import { type Answer, textAnswer } from '../answer.ts';
import type { Route } from '../routes.ts';

const HEALTHY_STATUS = '200 OK';
const UNHEALTHY_STATUS = '500 Internal Server Error';
const HEALTHY = textAnswer('OK', HEALTHY_STATUS);
const UNHEALTHY: Answer = { status: UNHEALTHY_STATUS, contentType: '', body: '' };

/** The query parameter that requests the components: `verbose`, with or without a value. */
const VERBOSE = /^verbose(=|$)/;

/** The load of each serving thread, in order. */
export interface ServingLoads {
  all(): readonly {
    readonly connections: number;
    /** Number of requests that the thread has decided. */
    readonly decisions: number;
    /** Share of the last second, 0 to 1, in which the thread was busy. */
    readonly busy: number;
  }[];
}

/**
 * `/healthcheck`: 200 with the body `OK`, or 500 with an empty body, for every method (spec 4.1, 3.4). With `?verbose`
 * the body shows for each component whether it works, whether it affects the status, and notes on some components:
 *
 *     {"healthy": true, "components": {"termination": true, "store": false},
 *      "decides": {"termination": true, "store": false}, "notes": {"store": "Redis at ... is not connected: ..."},
 *      "serving_threads": [{"connections": 3, "decisions": 1200, "busy_percent": 7}]}
 *
 * @param threads null if the primary thread serves alone
 */
export function healthRoute(health: Health, threads: ServingLoads | null = null): Route {
  return {
    path: '/healthcheck',
    method: 'any',
    help: '200 while the service is healthy; ?verbose lists its components',
    handle: (exchange, request) => {
      const isVerbose = VERBOSE.test(request.query);
      exchange.answer(isVerbose ? componentsOf(health, threads) : health.healthy ? HEALTHY : UNHEALTHY);
    },
  };
}

function componentsOf({ healthy, components }: Health, threads: ServingLoads | null): Answer {
  const all = [...components];
  const notes = all.flatMap(([name, { note }]) => (note === null ? [] : [[name, note] as const]));
  return {
    status: healthy ? HEALTHY_STATUS : UNHEALTHY_STATUS,
    contentType: 'application/json',
    body: JSON.stringify({
      healthy,
      components: Object.fromEntries(all.map(([name, { ok }]) => [name, ok])),
      decides: Object.fromEntries(all.map(([name, { decides }]) => [name, decides])),
      ...(notes.length > 0 && { notes: Object.fromEntries(notes) }),
      ...(threads !== null && {
        serving_threads: threads.all().map(({ connections, decisions, busy }) => ({
          connections,
          decisions,
          busy_percent: Math.round(busy * 100),
        })),
      }),
    }),
  };
}

/** A condition for sending requests to this process. Resolves if it holds, rejects with what is wrong. */
type ReadinessCheck = () => Promise<void>;

/** The error of a check that has a name for the reason. */
export class NotReadyError extends StacklessError {
  /** For programs, such as `disk_full`. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'NotReadyError';
    this.reason = reason;
  }
}

/** Checks by the name of their component. */
export type ReadinessChecks = Readonly<Record<string, ReadinessCheck>>;

/** Timeout of a check. */
const CHECK_TIMEOUT_MS = 2_000;

const ALIVE = textAnswer('OK');

/**
 * `/healthz`: 200 while the process answers at all. `/readyz`: 200 while the process is healthy and every check
 * succeeds, otherwise 503. The body, with or without `?verbose`, shows for each component `ok` or what is wrong,
 * whether it affects the status, and the names of the reasons that have one:
 *
 *     {"ready": false, "components": {"termination": "ok", "task_store": "... the disk is full: free some space"},
 *      "decides": {"termination": true, "task_store": true}, "causes": {"task_store": "disk_full"}}
 */
export function readinessRoutes(health: Health, checks: ReadinessChecks, clock: Clock): readonly Route[] {
  // Requests that arrive while checks run share their result, so that frequent requests do not load the store.
  let running: Promise<Answer> | null = null;
  const ask = (): Promise<Answer> => {
    running ??= readiness(health, checks, clock).finally(() => {
      running = null;
    });
    return running;
  };
  return [
    {
      path: '/healthz',
      method: 'GET',
      help: '200 while the process answers',
      handle: exchange => exchange.answer(ALIVE),
    },
    {
      path: '/readyz',
      method: 'GET',
      help: '200 while the service can do its work; lists what it needs',
      handle: exchange => {
        ask().then(
          answer => exchange.answer(answer),
          thrown => exchange.fail(thrown),
        );
      },
    },
  ];
}

/** Runs all checks. A check that takes too long has failed. */
export async function checkReadiness(checks: ReadinessChecks, clock: Clock): Promise<ReadinessOutcomes> {
  const outcomes = Object.entries(checks).map(
    async ([name, check]) => [name, await outcomeOf(check, clock)] as const,
  );
  return new Map(await Promise.all(outcomes));
}

async function readiness(health: Health, checks: ReadinessChecks, clock: Clock): Promise<Answer> {
  const outcomes = await checkReadiness(checks, clock);
  const checked = [...outcomes].map(([name, outcome]) => ({ name, ...outcome, decides: true }));
  const known = [...health.components].map(([name, { ok, decides, note }]) => ({
    name,
    outcome: ok ? 'ok' : (note ?? 'not working'),
    cause: null,
    decides,
  }));
  const all = [...known, ...checked];
  const causes = all.flatMap(({ name, cause }) => (cause === null ? [] : [[name, cause] as const]));
  const ready = health.healthy && checked.every(({ outcome }) => outcome === 'ok');
  return {
    status: ready ? '200 OK' : '503 Service Unavailable',
    contentType: 'application/json',
    body: JSON.stringify({
      ready,
      components: Object.fromEntries(all.map(({ name, outcome }) => [name, outcome])),
      decides: Object.fromEntries(all.map(({ name, decides }) => [name, decides])),
      ...(causes.length > 0 && { causes: Object.fromEntries(causes) }),
    }),
  };
}

/** The outcomes of checks by name. They can be sent to another thread. */
export type ReadinessOutcomes = ReadonlyMap<string, Outcome>;

interface Outcome {
  /** `ok`, or what is wrong. */
  readonly outcome: string;
  /** The name of the reason, if it has one. */
  readonly cause: string | null;
}

function outcomeOf(check: ReadinessCheck, clock: Clock): Promise<Outcome> {
  return new Promise(resolve => {
    const bound = clock.after(CHECK_TIMEOUT_MS, () =>
      resolve({ outcome: `the check timed out after ${CHECK_TIMEOUT_MS} ms`, cause: null }),
    );
    const done = (outcome: string, cause: string | null = null): void => {
      bound.cancel();
      resolve({ outcome, cause });
    };
    check().then(
      () => done('ok'),
      thrown => done(asError(thrown).message, thrown instanceof NotReadyError ? thrown.reason : null),
    );
  });
}
