import type { SeededRandom } from '../../support/seeded-random.ts';
import { WINDOW_MS } from '../world/limit-service.ts';
import { LIMIT_DOMAIN } from '../world/simulated-process.ts';
import type { Step } from './step.ts';

/** A worker of a random history. */
export interface RandomWorker {
  readonly name: string;
  readonly mode: 'push' | 'pull';
  readonly hasGroups: boolean;
}

/** A tenant of a random history. */
export interface RandomTenant {
  readonly name: string;
  readonly workers: readonly RandomWorker[];
  readonly schedules: string[];
  readonly labels: string[];
  /** Users that have a token. */
  readonly people: string[];
  readonly secrets: { readonly label: string; readonly worker: string }[];
}

const NAMES = ['acme', 'globex', 'initech'];
const WORKERS = ['mailer', 'crawler', 'billing', 'reports'];
/** A payload of more bytes is refused by some tenants. */
export const LARGE_BYTES = 400;
const LISTENER: RandomWorker = { name: 'listener', mode: 'push', hasGroups: false };

/** Accounts with their workers, and the steps that create them at the begin. */
export function randomTenants(random: SeededRandom): {
  readonly tenants: RandomTenant[];
  readonly steps: Step[];
} {
  const steps: Step[] = [];
  const tenants = NAMES.slice(0, 1 + random.below(NAMES.length)).map(name => {
    const limits = {
      ...(random.below(3) === 0 && { in_flight: 2 + random.below(6) }),
      ...(random.below(4) === 0 && { dispatch_per_second: 2 + random.below(10) }),
      ...(random.below(6) === 0 && { open_tasks: 5 + random.below(20) }),
      ...(random.below(4) === 0 && { payload_bytes: LARGE_BYTES }),
      // Clocks that are set forward let this time pass.
      ...(random.below(2) === 0 && { retain_succeeded: '1h', retain_other: random.pick(['1h', '2h']) }),
    };
    steps.push({
      at: 0,
      do: 'operator',
      tenant: name,
      method: 'POST',
      ...(Object.keys(limits).length > 0 && { body: { limits } }),
    });
    const workers = WORKERS.slice(0, 1 + random.below(WORKERS.length)).map(worker => {
      return randomWorker(random, name, worker, steps);
    });
    steps.push(workerStep(name, LISTENER.name, { url: 'https://listener.example.com/' }, 900));
    return { name, workers: [...workers, LISTENER], schedules: [], labels: [], people: [], secrets: [] };
  });
  return { tenants, steps: steps.sort((a, b) => a.at - b.at) };
}

function randomWorker(random: SeededRandom, tenant: string, name: string, steps: Step[]): RandomWorker {
  const mode = random.below(5) < 3 ? 'push' : 'pull';
  const hasGroups = random.below(3) === 0;
  const isOrdered = random.below(2) === 0;
  const fields = {
    ...(mode === 'push' && { url: `https://${name}.example.com/tasks`, timeout: `${2 + random.below(6)}s` }),
    ...(mode === 'pull' && { lease: '5s', timeout: `${8 + random.below(20)}s` }),
    retry: randomRetry(random),
    ...(random.below(3) > 0 && { concurrency: 1 + random.below(8) }),
    ...(random.below(5) === 0 && {
      rate: { limit: 2 + random.below(10), per: '1s', burst: 1 + random.below(10) },
    }),
    ...(hasGroups && {
      group_concurrency: isOrdered ? 1 : 1 + random.below(2),
      group_order: isOrdered ? 'fifo' : 'any',
    }),
    ...(random.below(8) === 0 && {
      limit: {
        domain: LIMIT_DOMAIN,
        descriptor: [{ key: 'upstream', value: String(WINDOW_MS / 1_000 + random.below(20)) }],
      },
    }),
    ...(random.below(2) === 0 && {
      on_finish: { worker: LISTENER.name, ...(random.below(2) === 0 && { events: ['failed', 'canceled'] }) },
    }),
  };
  steps.push(workerStep(tenant, name, fields, 1_000 + random.below(200)));
  if (mode === 'pull') {
    const count = 1 + random.below(3);
    for (let i = 0; i < count; i++) {
      steps.push({
        at: 1_500 + random.below(500),
        do: 'pull',
        tenant,
        worker: name,
        max: 1 + random.below(4),
      });
    }
  }
  return { name, mode, hasGroups };
}

/** The name of a task that a step creates. */
export function newLabel({ name, labels }: RandomTenant): string {
  const label = `${name}${labels.length + 1}`;
  labels.push(label);
  return label;
}

function workerStep(tenant: string, name: string, fields: object, at: number): Step {
  return { at, do: 'ask', tenant, method: 'POST', path: 'workers', body: { name, ...fields } };
}

export function randomRetry(random: SeededRandom): Record<string, unknown> {
  return {
    max_attempts: 1 + random.below(4),
    base: `${100 + random.below(900)}ms`,
    factor: 1 + random.below(3),
    max: '4s',
    jitter: random.pick([0, 0.2, 1]),
    ...(random.below(6) === 0 && { max_age: `${5 + random.below(20)}s` }),
    ...(random.below(8) === 0 && { schedule: ['500ms', '2s'] }),
  };
}
