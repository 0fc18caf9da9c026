import type { Clock, Timer } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';
import {
  type DocumentChange,
  type DueShare,
  dueShare,
  inTurnsAfter,
  type StoredDocument,
} from '../documents.ts';
import type { Overdue } from '../requests.ts';
import { READ_BYTES } from '../task-store.ts';
import type { Argument } from './connection/redis-client.ts';
import { type Hints, ofReachableNodes } from './hints.ts';
import { documentOf, leaseOf, type Reply, tasksOf } from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';

/** Number of tenants that are read concurrently when all are read. */
const TENANTS_AT_ONCE = 16;
const TENANTS_A_PAGE = 100;
/** A sweep stops after this many tenants have failed, because Redis is then probably unavailable. */
const MAX_FAILURES = 10;

interface DueDocument {
  readonly tenant: string;
  readonly document: StoredDocument;
}

/** The correct hints of a tenant. Null without a hint. */
interface Survey {
  readonly reapAt: number | null;
  readonly documentsAt: number | null;
  readonly hasAccount: boolean;
  /** Number of due tasks of all workers. */
  readonly dueTasks: number;
  readonly workers: readonly { readonly workerId: string; readonly at: number }[];
}

/** Operations over all tenants. Hints say which tenants to read, and the data that is found corrects the hints. */
export class AcrossTenants {
  readonly #hints: Hints;
  #dueTasks = 0;
  readonly #read: (script: Script, tenant: string, args: readonly Argument[]) => Promise<Reply>;

  constructor(
    hints: Hints,
    read: (script: Script, tenant: string, args: readonly Argument[]) => Promise<Reply>,
  ) {
    this.#hints = hints;
    this.#read = read;
  }

  /** Attempts whose lease has expired and tasks that did not start in time, at most `max` in total. */
  async overdue(now: number, max: number): Promise<readonly Overdue[]> {
    const tenants = await this.#hints.due('reap', now, max);
    const found: Overdue[] = [];
    const failures: unknown[] = [];
    let left = max;
    for (let i = 0; i < tenants.length && left > 0; i += TENANTS_AT_ONCE) {
      const some = tenants.slice(i, i + TENANTS_AT_ONCE);
      const asked = some.map(({ member }) => this.#overdueOf(member, left));
      const answers = await ofReachableNodes(asked, failures);
      for (const { tenant, leases, expired } of answers) {
        const part = {
          tenant,
          leases: leases.slice(0, left),
          expired: expired.slice(0, left - leases.length),
        };
        left -= part.leases.length + part.expired.length;
        if (part.leases.length + part.expired.length > 0) found.push(part);
      }
    }
    if (found.length === 0 && failures.length > 0) throw failures[0];
    return found;
  }

  /** See `TaskStore.dueDocuments`. */
  async dueDocuments(now: number, max: number, after: string | null): Promise<readonly DueDocument[]> {
    const hints = await this.#hints.due('docs', now, Math.max(max, TENANTS_A_PAGE));
    const tenants = inTurnsAfter(
      hints.map(({ member }) => member),
      after,
    );
    const share = dueShare(tenants.length, { documents: max, bytes: READ_BYTES });
    const found: DueDocument[] = [];
    const failures: unknown[] = [];
    let bytes = 0;
    for (let i = 0; i < tenants.length && found.length < max && bytes < READ_BYTES; i += TENANTS_AT_ONCE) {
      const asked = tenants.slice(i, i + TENANTS_AT_ONCE).map(tenant => this.#dueDocumentsOf(tenant, share));
      for (const part of await ofReachableNodes(asked, failures)) {
        found.push(...part.found);
        bytes += part.bytes;
      }
    }
    if (found.length === 0 && failures.length > 0) throw failures[0];
    if (found.length >= max || bytes >= READ_BYTES) return found.slice(0, max);
    return found.sort((a, b) => a.document.dueAt! - b.document.dueAt!);
  }

  async #overdueOf(tenant: string, max: number): Promise<Overdue> {
    const [count, ...found] = await this.#read(SCRIPTS.overdue, tenant, [max]);
    const ends = 2 * (count as number);
    const leases = tasksOf(found.slice(0, ends)).map((task, i) => ({
      leaseId: leaseOf(found[2 * i + 1] as Buffer),
      task,
    }));
    if (found.length === 0) await this.#settleTenant('reap', tenant);
    return { tenant, leases, expired: tasksOf(found.slice(ends)) };
  }

  async #dueDocumentsOf(
    tenant: string,
    share: DueShare,
  ): Promise<{ readonly found: readonly DueDocument[]; readonly bytes: number }> {
    const reply = await this.#read(SCRIPTS.dueDocuments, tenant, [share.documents, share.bytes]);
    const found: DueDocument[] = [];
    let bytes = 0;
    for (let i = 0; i < reply.length; i += 3) {
      const packed = reply[i + 2] as Buffer;
      found.push({ tenant, document: documentOf(String(reply[i]), String(reply[i + 1]), packed) });
      bytes += packed.length;
    }
    if (found.length === 0) await this.#settleTenant('docs', tenant);
    return { found, bytes };
  }

  /** A hint led to a tenant with nothing to do. Sets it to the time at which there will be something. */
  async #settleTenant(kind: 'reap' | 'docs', tenant: string): Promise<void> {
    const look = async () => {
      const survey = await this.#survey(tenant, false);
      return kind === 'reap' ? survey.reapAt : survey.documentsAt;
    };
    this.#hints.settle(kind, tenant, tenant, await look(), look);
  }

  /**
   * Sets the hint of a tenant by its tasks. Otherwise the hint of a tenant without tasks would remain until it is due. A
   * change between the look and the update is found by the sweep.
   */
  async setReapHint(tenant: string): Promise<void> {
    const { reapAt } = await this.#survey(tenant, false);
    await this.#hints.set('reap', tenant, tenant, reapAt);
  }

  async #survey(tenant: string, wakes: boolean): Promise<Survey> {
    const [reapAt, documentsAt, accounts, dueTasks, ...due] = await this.#read(SCRIPTS.survey, tenant, [
      wakes ? '1' : '',
    ]);
    const workers: { readonly workerId: string; readonly at: number }[] = [];
    for (let i = 0; i < due.length; i += 2)
      workers.push({ workerId: String(due[i]), at: due[i + 1] as number });
    return {
      reapAt: reapAt as number | null,
      documentsAt: documentsAt as number | null,
      hasAccount: (accounts as number) > 0,
      dueTasks: dueTasks as number,
      workers,
    };
  }

  /** Changes documents and sets the hints for them. The name of a new tenant is added first. */
  async aroundDocuments(
    tenant: string,
    changes: readonly DocumentChange[],
    apply: () => Promise<Reply>,
  ): Promise<Reply> {
    if (changes.length === 0) return apply();
    const isAboutAccount = changes.some(({ kind }) => kind === 'account');
    if (changes.some(({ op, kind }) => op === 'put' && kind === 'account'))
      await this.#hints.addTenant(tenant);
    const answer = await apply();
    if (isAboutAccount) await this.#listTenant(tenant);
    if (String(answer[0]) === 'done') {
      for (const change of changes) {
        if (change.op === 'put' && change.dueAt !== null) {
          this.#hints.lower('docs', tenant, tenant, change.dueAt);
        }
      }
    }
    return answer;
  }

  /** Removes the name of a tenant without an account. Looks again, because an account may be created meanwhile. */
  async #listTenant(tenant: string): Promise<void> {
    if ((await this.#survey(tenant, false)).hasAccount) return;
    await this.#hints.removeTenant(tenant);
    if ((await this.#survey(tenant, false)).hasAccount) await this.#hints.addTenant(tenant);
  }

  /**
   * Restores lost hints, one tenant at a time. If a process dies after its script and before it has set the hints, no
   * hint leads to the task. The sweep of any process finds it.
   */
  async sweep(): Promise<void> {
    const failures: unknown[] = [];
    let dueTasks = 0;
    let after: string | null = null;
    let tenants: readonly string[];
    do {
      tenants = await this.#hints.tenants(after, TENANTS_A_PAGE);
      for (const tenant of tenants) {
        try {
          dueTasks += await this.sweepTenant(tenant);
        } catch (failure) {
          failures.push(failure);
          if (failures.length >= MAX_FAILURES) throw failure;
        }
      }
      after = tenants.at(-1) ?? null;
    } while (tenants.length === TENANTS_A_PAGE);
    this.#hints.flush();
    this.#dueTasks = dueTasks;
    // A tenant that fails, for example because its node is unreachable, does not stop the sweep of the others.
    if (failures.length > 0) throw failures[0];
  }

  /** Number of due tasks of all tenants, as of the last sweep. */
  get dueTasks(): number {
    return this.#dueTasks;
  }

  /** Restores the hints of one tenant. Returns the number of its due tasks. */
  async sweepTenant(tenant: string): Promise<number> {
    const { reapAt, documentsAt, dueTasks, workers } = await this.#survey(tenant, true);
    if (reapAt !== null) this.#hints.lower('reap', tenant, tenant, reapAt);
    if (documentsAt !== null) this.#hints.lower('docs', tenant, tenant, documentsAt);
    for (const { workerId, at } of workers) this.#hints.wake(tenant, workerId, at);
    return dueTasks;
  }
}

/** Delay after a failure before the hints of the tenant are restored, and between attempts to do so. */
const RETRY_MS = 1_000;
/** Further tenants are left to the sweep of all tenants. */
const MAX_TENANTS = 10_000;

/**
 * Tenants with a failed write. The write may have happened, for example if only the reply was late, and then its hints
 * are missing. They are restored within seconds instead of by the next sweep of all tenants.
 */
export class DoubtfulTenants {
  readonly #restore: (tenant: string) => Promise<unknown>;
  readonly #clock: Clock;
  readonly #tenants = new Set<string>();
  #timer: Timer | null = null;
  #stopped = false;

  /** @param restore restores the hints of a tenant */
  constructor(restore: (tenant: string) => Promise<unknown>, clock: Clock) {
    this.#restore = restore;
    this.#clock = clock;
  }

  /** Runs `write`. If it fails and may have happened, the tenant is remembered. */
  async around<T>(tenant: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (failure) {
      const isKnown = failure instanceof Fault && failure.code !== 'store_failed';
      if (!isKnown && this.#tenants.size < MAX_TENANTS) {
        this.#tenants.add(tenant);
        this.#sweepLater();
      }
      throw failure;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#timer ??= this.#clock.after(RETRY_MS, () => void this.#sweepAll());
  }

  async #sweepAll(): Promise<void> {
    const tenants = [...this.#tenants];
    try {
      for (const tenant of tenants) {
        // Before the sweep, because a write that fails during the sweep must cause another one.
        this.#tenants.delete(tenant);
        await this.#sweep(tenant);
      }
    } catch {
      // Redis is still unavailable. The callers of other operations report that.
    }
    this.#timer = null;
    if (this.#tenants.size > 0) this.#sweepLater();
  }

  async #sweep(tenant: string): Promise<void> {
    try {
      await this.#restore(tenant);
    } catch (failure) {
      this.#tenants.add(tenant);
      throw failure;
    }
  }
}
