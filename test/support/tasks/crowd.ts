import { systemClock } from '../../../src/base/clock.ts';
import type { ClaimRequest, NewTask } from '../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import type { Expectations } from '../../exam/task-store/invariants.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { Factory, idempotency, settlement, taskChange } from './factories.ts';

/** Always the same, so that it can be seen whether all claims together have kept them. */
const BOUNDS = {
  tenantInFlight: 12,
  tenantPerSecond: 100_000,
  concurrency: 6,
  groups: { concurrency: 2, fifo: false },
};

const KEYS = ['a', 'b', 'c', 'd', null, null, null];
const GROUPS = ['red', 'green', 'blue', null, null];
const CONFLICTS = ['return', 'reject', 'replace', 'replace_keep_time'] as const;
const ENDS = ['succeeded', 'attempt_failed', 'no_retry', 'deferred', 'released', 'canceled'] as const;
const ACTIONS = [
  'update',
  'pause',
  'resume',
  'cancel',
  'cancel',
  'replay',
  'replay',
  'run',
  'expire',
] as const;

/** Succeeded tasks are removed after this time. */
const RETENTION_MS = 300;

/** Callers that do all kinds of things to the tasks of one tenant at the same time, over several stores of the same data. */
export class Crowd {
  readonly tenant = 'acme';
  readonly #stores: readonly TaskStore[];
  readonly #random: SeededRandom;
  readonly #make = new Factory(systemClock);
  readonly #pushed = this.#make.worker();
  readonly #pulled = this.#make.worker({ name: 'pulled' });
  /** Ids of tasks that were created and not removed. */
  readonly #created = new Set<string>();
  /** Ids of tasks that may be removed because they have succeeded. */
  readonly #over = new Set<string>();
  readonly #leases: string[] = [];

  constructor(stores: readonly TaskStore[], random: SeededRandom) {
    this.#stores = stores;
    this.#random = random;
  }

  /** The id of the worker whose tasks are pushed. */
  get pushed(): string {
    return this.#pushed.id;
  }

  async begin(): Promise<void> {
    const { tenant } = this;
    await this.#stores[0].apply(tenant, [this.#make.account(tenant), this.#pushed, this.#pulled]);
  }

  /** So many callers do so many things together. */
  async act(callers: number, steps: number): Promise<void> {
    const doings = [
      ...[this.#create, this.#create, this.#create, this.#claim, this.#claim, this.#claim, this.#settle],
      ...[this.#settle, this.#settle, this.#change, this.#change, this.#remove, this.#extend, this.#purge],
    ];
    let left = steps;
    const call = async (): Promise<void> => {
      while (left-- > 0) await this.#random.pick(doings)(this.#random.pick(this.#stores));
    };
    await Promise.all(Array.from({ length: callers }, call));
  }

  /** What the store should have now. */
  expected(): Expectations {
    const { tenantInFlight, tenantPerSecond, concurrency, groups } = BOUNDS;
    const ofWorker = { concurrency, rate: null, groups };
    const workers = new Map([this.#pushed.id, this.#pulled.id].map(id => [id, ofWorker]));
    const bounds = { inFlight: tenantInFlight, perSecond: tenantPerSecond, workers };
    return {
      created: new Map([[this.tenant, [...this.#created].filter(id => !this.#over.has(id))]]),
      bounds: new Map([[this.tenant, bounds]]),
    };
  }

  /** Ends all tasks. */
  async end(): Promise<void> {
    const [store] = this.#stores;
    for (const leaseId of this.#leases.splice(0)) {
      await store.settle(this.tenant, [settlement(leaseId, 'no_retry')]);
    }
    for (const id of this.#created) await store.change(this.tenant, id, taskChange('cancel'));
  }

  readonly #create = async (store: TaskStore): Promise<void> => {
    const random = this.#random;
    const items = Array.from({ length: 1 + random.below(4) }, () => this.#item());
    const more = random.below(5) === 0 ? { idempotency: idempotency(`i${random.below(1_000)}`) } : {};
    const request = this.#make.createRequest(items, { atomic: random.below(3) === 0, ...more });
    const answer = await store.create(this.tenant, request);
    if (answer.kind !== 'done') return;
    for (const result of answer.results) if (result.kind === 'created') this.#created.add(result.task.id);
  };

  #item(): NewTask {
    const random = this.#random;
    const now = Date.now();
    const isPushed = random.below(2) === 0;
    const onFinish =
      random.below(6) === 0 ? { workerId: this.#pulled.id, events: ['succeeded'] as const } : null;
    const fields = {
      runAt: random.pick([now, now, now - 5, now + 20]),
      expiresAt: random.below(10) === 0 ? now + 30 : null,
      key: random.pick(KEYS),
      keyTtlMs: 5,
      group: random.pick(GROUPS),
      heldBy: random.below(4) === 0 ? this.#known() : null,
      onFinish,
    };
    const worker = isPushed ? this.#pushed : this.#pulled;
    return this.#make.newTask(worker, fields, { onConflict: random.pick(CONFLICTS), wake: isPushed });
  }

  readonly #claim = async (store: TaskStore): Promise<void> => {
    const isPushed = this.#random.below(2) === 0;
    const lease = { mode: isPushed ? 'push' : 'pull', ms: 60_000 } as const;
    const rest: Partial<ClaimRequest> = { ...BOUNDS, lease };
    const { id } = isPushed ? this.#pushed : this.#pulled;
    const request = this.#make.claimRequest(id, 1 + this.#random.below(4), rest);
    for (const { leaseId } of (await store.claim(this.tenant, request)).tasks) this.#leases.push(leaseId);
  };

  readonly #settle = async (store: TaskStore): Promise<void> => {
    const random = this.#random;
    const some = this.#leases.splice(0, 1 + random.below(5));
    const settlements = some.map(leaseId => {
      const rest = { delayMs: random.below(20), throttleMs: random.below(30) === 0 ? 5 : 0 };
      return settlement(leaseId, random.pick(ENDS), rest);
    });
    for (const answer of await store.settle(this.tenant, settlements)) {
      if (answer.kind === 'settled' && answer.task.status === 'succeeded') this.#over.add(answer.task.id);
    }
  };

  readonly #change = async (store: TaskStore): Promise<void> => {
    const id = this.#known();
    if (id === null) return;
    const action = this.#random.pick(ACTIONS);
    const patch = action === 'update' ? { tags: [`t${this.#random.below(9)}`], payload: '1' } : {};
    await store.change(this.tenant, id, taskChange(action, patch));
  };

  readonly #remove = async (store: TaskStore): Promise<void> => {
    const id = this.#known();
    if (id === null) return;
    this.#created.delete(id);
    if ((await store.remove(this.tenant, id, null)) === 'running') this.#created.add(id);
  };

  /** Several at once, which are sent together. */
  readonly #extend = async (store: TaskStore): Promise<void> => {
    const some = Array.from({ length: Math.min(3, this.#leases.length) }, () =>
      this.#random.pick(this.#leases),
    );
    await Promise.all(some.map(leaseId => store.extend(this.tenant, leaseId, 60_000, null)));
  };

  readonly #purge = async (store: TaskStore): Promise<void> => {
    await store.purge(this.tenant, { succeededMs: RETENTION_MS, otherMs: 3_600_000 }, 100);
    await store.overdue(10);
  };

  /** The id of a task that may still exist; null without any. The last ones are chosen most. */
  #known(): string | null {
    const known = [...this.#created].slice(this.#random.below(3) === 0 ? 0 : -30);
    return known.length === 0 ? null : this.#random.pick(known);
  }
}
