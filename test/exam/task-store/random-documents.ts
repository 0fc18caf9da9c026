import type { DocumentChange, DocumentQuery } from '../../../src/tasks/store/documents.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Factory } from '../../support/tasks/factories.ts';
import type { Step } from './random-steps.ts';

const NAMES = ['email:a', 'email:b', 'hash:c', 'hash:d'];

type Document = { readonly kind: 'user' | 'token' | 'secret' | 'worker'; readonly id: string };

/** Makes changes of a few documents, so that they often meet in versions, names and parents. */
export class RandomDocuments {
  readonly #random: SeededRandom;
  readonly #make: Factory;
  readonly #model: TaskStore;
  readonly #clock: ManualClock;
  readonly #pool: readonly Document[];
  readonly #users: readonly string[];

  constructor(
    random: SeededRandom,
    make: Factory,
    model: TaskStore,
    clock: ManualClock,
    workers: readonly { readonly id: string }[],
  ) {
    this.#random = random;
    this.#make = make;
    this.#model = model;
    this.#clock = clock;
    this.#users = [make.id('user'), make.id('user')];
    this.#pool = [
      ...this.#users.map(id => ({ kind: 'user', id }) as const),
      ...[1, 2, 3].map(() => ({ kind: 'token', id: make.id('token') }) as const),
      ...[1, 2].map(() => ({ kind: 'secret', id: make.id('secret') }) as const),
      // The last worker comes and goes.
      { kind: 'worker', id: workers[workers.length - 1].id },
    ];
  }

  async changes(tenant: string): Promise<DocumentChange[]> {
    const changes: DocumentChange[] = [];
    for (let left = this.#random.pick([1, 1, 2, 3]); left > 0; left--)
      changes.push(await this.#change(tenant));
    return changes;
  }

  async #change(tenant: string): Promise<DocumentChange> {
    const random = this.#random;
    const { kind, id } = random.pick(this.#pool);
    const version = (await this.#model.getDocument(tenant, kind, id))?.version;
    if (random.below(version === undefined ? 20 : 4) === 0) {
      return {
        op: 'delete',
        kind,
        id,
        expect: random.pick(['any', version ?? 1]),
        ...(kind === 'worker' ? { noOpenTasksOf: id } : {}),
        ...(kind === 'user' ? { children: 'token' as const } : {}),
      };
    }
    const expect = random.pick([
      'any',
      version ?? 'absent',
      version ?? 'absent',
      version ?? 'any',
      'absent',
      1,
    ]);
    const filing = {
      expect,
      parent: kind === 'token' ? random.pick(this.#users) : '',
      dueAt: random.pick([null, null, this.#clock.nowMs(), this.#clock.nowMs() + 60_000]),
      unique: kind === 'worker' ? [] : NAMES.filter(() => random.below(5) === 0),
      ...(random.below(4) === 0 ? { atMost: 1 + random.below(3) } : {}),
      ...(random.below(6) === 0 ? { keepNewest: 1 + random.below(2) } : {}),
    } as const;
    return { ...this.#document(kind), id, ...filing } as DocumentChange;
  }

  #document(kind: Document['kind']): DocumentChange & { op: 'put' } {
    const name = this.#random.pick(['Ann', 'Bea']);
    if (kind === 'user') return this.#make.user({ name });
    if (kind === 'token') return this.#make.token(this.#users[0], 'h', { name });
    if (kind === 'secret') return this.#make.secret('wrk_1', { name });
    return this.#make.worker({ name: 'spare', pauseReason: name });
  }

  read(tenant: string, limit: number, order: DocumentQuery['order']): Step {
    const random = this.#random;
    const { kind, id } = random.pick(this.#pool);
    const after = random.pick([null, id]);
    const parent = random.pick(this.#users);
    return random.pick<Step>([
      { call: 'getDocument', args: [tenant, kind, id] },
      { call: 'findDocument', args: [tenant, random.pick(NAMES)] },
      { call: 'listDocuments', args: [tenant, { kind, after, limit, order }] },
      { call: 'countDocuments', args: [tenant, kind] },
      { call: 'listDocuments', args: [tenant, { kind: 'token', parent, after, limit, order }] },
    ]);
  }
}
