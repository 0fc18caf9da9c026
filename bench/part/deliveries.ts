// What pushing tasks costs: attempts a second from `deliver` to its outcome, to a server on loopback in a process of its
// own, on this thread and through delivery threads. Run: node bench/part/deliveries.ts
import { App, us_socket_local_port } from 'uWebSockets.js';
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import type { Deliveries, DeliveryRequest } from '../../src/tasks/delivery/delivery.ts';
import { type DeliverySetup, LocalDeliveries } from '../../src/tasks/delivery/delivery-thread.ts';
import { systemResolve } from '../../src/tasks/delivery/host-addresses.ts';
import { PiscinaDeliveries } from '../../src/tasks/delivery/piscina-deliveries.ts';
import { newSigningSecret } from '../../src/tasks/delivery/signature.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/tasks/model/retry-policy.ts';
import type { Task } from '../../src/tasks/model/task.ts';
import { NO_CONTENT } from '../../src/tasks/model/task-content.ts';
import { standardErrorLogger } from '../support/standard-error-logger.ts';

const AT_ONCE = 64;
const WARM_UP_MS = 500;
const ROUND_MS = 700;
const ROUNDS = 3;
const PAYLOAD = JSON.stringify({ text: 'x'.repeat(500) });

/** The worker: answers every request with a small JSON document. */
function serveWorker(): void {
  const app = App();
  app.any('/*', response => {
    response.onAborted(() => {});
    response.onData((_, last) => {
      if (last) response.writeHeader('content-type', 'application/json').end('{"done":true}');
    });
  });
  app.listen('127.0.0.1', 0, socket => {
    if (socket !== false) process.send?.(us_socket_local_port(socket));
  });
}

const signing = [newSigningSecret(randomBytes)];

function request(url: string, number: number): DeliveryRequest {
  const now = Date.now();
  // A whole task, as the dispatcher has it.
  const task: Task = {
    id: `tsk_${String(number).padStart(26, '0')}`,
    workerId: 'wrk_1',
    worker: 'mailer',
    ...NO_CONTENT,
    type: 'email.welcome',
    status: 'running',
    priority: 'normal',
    runAt: now,
    dueAt: null,
    expiresAt: null,
    timeoutMs: 30_000,
    retry: DEFAULT_RETRY_POLICY,
    attempt: 1,
    deferrals: 0,
    key: null,
    keyTtlMs: 0,
    lastError: null,
    cancelRequestedAt: null,
    group: null,
    scheduleId: null,
    scheduledFor: null,
    heldBy: null,
    onFinish: null,
    createdBy: { type: 'user', id: 'usr_1' },
    createdAt: now,
    updatedAt: now,
    startedAt: now,
    finishedAt: null,
    version: 2,
  };
  return {
    tenant: 'acme',
    task,
    payload: PAYLOAD,
    headers: {},
    worker: { name: 'mailer', url, method: 'POST', headers: { 'x-team': 'growth' } },
    signing,
    secretHeaders: { authorization: 'Bearer 0123456789' },
    trace: null,
  };
}

/** Attempts a second with so many under way; each is followed by the next as soon as its outcome is there. */
async function perSecond(deliveries: Deliveries, url: string, forMs: number): Promise<number> {
  const began = performance.now();
  let made = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() - began < forMs) {
        const { status, error } = await deliveries.deliver(request(url, made++));
        if (status !== 200) throw new Error(`an attempt failed: ${error?.message}`);
      }
    }),
  );
  return (made / (performance.now() - began)) * 1000;
}

interface Row {
  readonly deliveries: string;
  readonly 'attempts/s': number;
  readonly 'CPU µs each': number;
}

async function measure(name: string, deliveries: Deliveries, url: string): Promise<Row> {
  await deliveries.start();
  await perSecond(deliveries, url, WARM_UP_MS);
  const rounds: { readonly rate: number; readonly cpu: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    const began = performance.now();
    const rate = await perSecond(deliveries, url, ROUND_MS);
    const { user, system } = process.cpuUsage(before);
    rounds.push({ rate, cpu: (user + system) / ((rate * (performance.now() - began)) / 1000) });
  }
  await deliveries.stop();
  const [, { rate, cpu }] = rounds.sort((a, b) => a.rate - b.rate);
  return { deliveries: name, 'attempts/s': Math.round(rate), 'CPU µs each': Math.round(cpu) };
}

function threads(count: number, setup: DeliverySetup): PiscinaDeliveries {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const creation = {
    module: new URL(`../../workers/deliver.${extension}`, import.meta.url),
    count,
    lost: () => {},
    clock: systemClock,
    random: Math.random,
    logger: standardErrorLogger,
  };
  return new PiscinaDeliveries(creation, setup);
}

async function bench(): Promise<void> {
  const worker: ChildProcess = fork(import.meta.filename, ['worker']);
  try {
    const [port] = (await once(worker, 'message')) as [number];
    const url = `http://127.0.0.1:${port}/tasks`;
    const setup: DeliverySetup = {
      capacity: 256,
      networks: ['127.0.0.0/8'],
      ports: [],
      allowHttp: true,
      userAgent: 'sluice',
      ca: null,
    };
    console.table([
      await measure('this thread', new LocalDeliveries(setup, systemResolve, systemClock), url),
      await measure('1 thread', threads(1, setup), url),
      await measure('2 threads', threads(2, setup), url),
    ]);
  } finally {
    worker.kill();
  }
}

if (process.argv[2] === 'worker') serveWorker();
else await bench();
