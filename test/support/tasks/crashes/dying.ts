import { StatementSync } from 'node:sqlite';
import type { Deliveries } from '../../../../src/tasks/delivery/delivery.ts';
import type { ClaimAnswer, ClaimRequest } from '../../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { CRASH_LEASE_MS, type CrashPoint } from './crash-plan.ts';

/** What takes part in a crash: what it was given, but for the moment at which it kills the process. */
export interface Dying {
  readonly store: TaskStore;
  readonly deliveries: Deliveries;
}

/** As the kernel does it: nothing of this process runs afterwards. */
function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

/** Lets the process die at this point. Leases are short. */
export function dying({ store, deliveries }: Dying, point: CrashPoint): Dying {
  let isCommitFatal = false;
  if (point.when === 'commit') dieAtCommit(() => isCommitFatal);
  const call = async (name: string, run: () => Promise<unknown>): Promise<unknown> => {
    // A run that crashes leaves the expired leases of an earlier run to the run after it.
    if (name === 'overdue') return [];
    const isMeant = name === point.operation;
    if (isMeant && point.when === 'before') return die();
    isCommitFatal = isMeant;
    const answer = await run();
    isCommitFatal = false;
    const isEmpty = name === 'claim' && (answer as ClaimAnswer).tasks.length === 0;
    return isMeant && !isEmpty ? die() : answer;
  };
  return {
    store: proxied(store, (name, args, run) => call(name, () => run(withShortLease(name, args)))),
    deliveries: proxied(deliveries, (name, args, run) =>
      name === 'deliver' ? call(name, () => run(args)) : run(args),
    ),
  };
}

function proxied<T extends object>(
  target: T,
  call: (name: string, args: unknown[], run: (args: unknown[]) => Promise<unknown>) => unknown,
): T {
  return new Proxy(target, {
    get: (_, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => call(String(name), args, changed => member.apply(target, changed));
    },
  });
}

function withShortLease(name: string, args: unknown[]): unknown[] {
  if (name !== 'claim') return args;
  const [tenant, request] = args as [string, ClaimRequest];
  const { mode } = request.lease;
  // The lease of a push lasts so much longer than its timeout, which is a second at least.
  const ms = mode === 'push' ? CRASH_LEASE_MS - 1_000 : CRASH_LEASE_MS;
  return [tenant, { ...request, lease: { mode, ms } }];
}

function dieAtCommit(isFatal: () => boolean): void {
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function (this: StatementSync, ...values: unknown[]) {
    if (this.sourceSQL === 'COMMIT' && isFatal()) void die();
    return Reflect.apply(run, this, values);
  } as typeof run;
}
