import type { DocumentChange, StoredDocument } from '../documents.ts';
import { type DueShare, dueShare, inTurnsAfter } from '../due-shares.ts';
import type { Overdue } from '../requests.ts';
import { READ_BYTES } from '../task-store.ts';
import type { Argument } from './connection/redis-client.ts';
import type { Hints } from './hints.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';
import { documentOf, leaseOf } from './records/records.ts';
import { type Reply, tasksOf } from './records/replies.ts';
import { thoseThatAnswer } from './those-that-answer.ts';

/** How many tenants are looked at at the same time, where all are asked. */
const TENANTS_AT_ONCE = 16;
const TENANTS_A_PAGE = 100;
/** Tenants that may fail in one sweep: with more of them all of Redis is away. */
const MAX_FAILURES = 10;

export interface DueDocument {
  readonly tenant: string;
  readonly document: StoredDocument;
}

/** What the hints should say of a tenant. Null: nothing waits for a time. */
interface Survey {
  readonly reapAt: number | null;
  readonly documentsAt: number | null;
  readonly hasAccount: boolean;
  /** How many tasks of all workers are due. */
  readonly dueTasks: number;
  readonly workers: readonly { readonly workerId: string; readonly at: number }[];
}

/** What concerns all tenants: hints say where to look, and what is found there says what the hints should be. */
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

  /** Attempts whose lease is over and tasks that did not start in time, at most `max` in all. */
  async overdue(now: number, max: number): Promise<readonly Overdue[]> {
    const tenants = await this.#hints.due('reap', now, max);
    const found: Overdue[] = [];
    const failures: unknown[] = [];
    let left = max;
    for (let i = 0; i < tenants.length && left > 0; i += TENANTS_AT_ONCE) {
      const some = tenants.slice(i, i + TENANTS_AT_ONCE);
      const asked = some.map(({ member }) => this.#overdueOf(member, left));
      const answers = await thoseThatAnswer(asked, failures);
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
    const share = dueShare(tenants.length, max);
    const found: DueDocument[] = [];
    const failures: unknown[] = [];
    let bytes = 0;
    for (let i = 0; i < tenants.length && found.length < max && bytes < READ_BYTES; i += TENANTS_AT_ONCE) {
      const asked = tenants.slice(i, i + TENANTS_AT_ONCE).map(tenant => this.#dueDocumentsOf(tenant, share));
      for (const part of await thoseThatAnswer(asked, failures)) {
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

  /** Nothing was found where a hint led to: it is set to when there will be something. */
  async #settleTenant(kind: 'reap' | 'docs', tenant: string): Promise<void> {
    const look = async () => {
      const survey = await this.#survey(tenant, false);
      return kind === 'reap' ? survey.reapAt : survey.documentsAt;
    };
    this.#hints.settle(kind, tenant, tenant, await look(), look);
  }

  /**
   * Sets the hint to what the tasks say now: that of a tenant without tasks would stay until its time has come. What
   * comes between the look and the setting is found by the sweep.
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

  /** Changes documents, and leaves the hints that they need: the name of a new tenant first of all. */
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

  /** Takes the name of a tenant away where there is no account; looks again, as one may be made meanwhile. */
  async #listTenant(tenant: string): Promise<void> {
    if ((await this.#survey(tenant, false)).hasAccount) return;
    await this.#hints.removeTenant(tenant);
    if ((await this.#survey(tenant, false)).hasAccount) await this.#hints.addTenant(tenant);
  }

  /**
   * Puts hints back, tenant by tenant: it is in no hurry. A process that dies between its script and its hints leaves a
   * task that nobody would look for; this finds it, whoever made it.
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
    // One tenant that fails, as one of many nodes may, does not keep the others from being looked at.
    if (failures.length > 0) throw failures[0];
  }

  /** How many tasks of all tenants the last sweep has found due. */
  get dueTasks(): number {
    return this.#dueTasks;
  }

  /** Puts the hints of one tenant back. Returns how many tasks of it are due. */
  async sweepTenant(tenant: string): Promise<number> {
    const { reapAt, documentsAt, dueTasks, workers } = await this.#survey(tenant, true);
    if (reapAt !== null) this.#hints.lower('reap', tenant, tenant, reapAt);
    if (documentsAt !== null) this.#hints.lower('docs', tenant, tenant, documentsAt);
    for (const { workerId, at } of workers) this.#hints.wake(tenant, workerId, at);
    return dueTasks;
  }
}
