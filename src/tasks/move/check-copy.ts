import { HOUR_MS } from '../../base/clock.ts';
import { SERVICE } from '../store/documents.ts';
import type { TaskStore } from '../store/task-store.ts';
import { ahead, pagesOfTenant, tenantsOf } from './copied-pages.ts';
import { type CopyCounts, NOTHING_COPIED } from './copy-tenants.ts';
import { TenantDigest } from './digest.ts';

/** A tenant that is not the same in both stores. */
export interface Difference {
  readonly tenant: string;
  /** What differs: `3 tasks in the source, 2 in the target`. */
  readonly text: string;
}

interface CheckObserver {
  advanced(stage: 'check', done: CopyCounts): void;
  checked(tenant: string, digest: TenantDigest): void;
}

type CheckedStore = Pick<TaskStore, 'tenants' | 'copyOut' | 'recallAll' | 'now'>;

/** What a store forgets within this time is not compared. */
const FORGOTTEN_MS = HOUR_MS;

/** Further differences would not help to find the cause. */
const MAX_DIFFERENCES = 10;

/** Reads everything of both stores again, and compares it for each tenant. */
export async function checkCopy(
  from: CheckedStore,
  to: CheckedStore,
  observer: CheckObserver,
): Promise<readonly Difference[]> {
  const untilMs = Math.max(await from.now(), await to.now()) + FORGOTTEN_MS;
  const [source, target] = await Promise.all([answersOf(from, untilMs), answersOf(to, untilMs)]);
  const check = new CopyCheck(
    { store: from, digests: source },
    { store: to, digests: target },
    untilMs,
    observer,
  );
  await check.run();
  return check.differences;
}

/** A store, and digests of its tenants that have their idempotency records until the tenant is compared. */
interface CheckedSide {
  readonly store: CheckedStore;
  readonly digests: Map<string, TenantDigest>;
}

class CopyCheck {
  readonly differences: Difference[] = [];
  readonly #from: CheckedSide;
  readonly #to: CheckedSide;
  readonly #untilMs: number;
  readonly #observer: CheckObserver;
  #done: CopyCounts = NOTHING_COPIED;

  constructor(from: CheckedSide, to: CheckedSide, untilMs: number, observer: CheckObserver) {
    this.#from = from;
    this.#to = to;
    this.#untilMs = untilMs;
    this.#observer = observer;
  }

  async run(): Promise<void> {
    for await (const tenant of tenantsOf(this.#from.store)) {
      await this.#compare(tenant);
      if (tenant !== SERVICE) this.#done = { ...this.#done, tenants: this.#done.tenants + 1 };
      if (this.differences.length >= MAX_DIFFERENCES) return;
    }
    // Those without an account can have idempotency records.
    const others = new Set([...this.#from.digests.keys(), ...this.#to.digests.keys()]);
    for (const tenant of others) await this.#compare(tenant);
    const [expected, found] = [this.#done.tenants, await countTenants(this.#to.store)];
    if (found === expected) return;
    this.differences.push({ tenant: '', text: `${expected} tenants in the source, ${found} in the target` });
  }

  async #compare(tenant: string): Promise<void> {
    const { tenants, tasks } = this.#done;
    const [source, target] = await Promise.all([
      this.#digestOf(this.#from, tenant, count => {
        this.#done = { tenants, tasks: tasks + count };
        this.#observer.advanced('check', this.#done);
      }),
      this.#digestOf(this.#to, tenant, () => {}),
    ]);
    const text = differenceOf(source, target);
    if (text !== null) this.differences.push({ tenant, text });
    else if (!source.isEmpty) this.#observer.checked(tenant, source);
  }

  /** @param advanced is called with the number of tasks that were read */
  async #digestOf(
    { store, digests }: CheckedSide,
    tenant: string,
    advanced: (tasks: number) => void,
  ): Promise<TenantDigest> {
    const digest = digests.get(tenant) ?? new TenantDigest();
    digests.delete(tenant);
    for await (const { copies } of ahead(pagesOfTenant(store, tenant))) {
      for (const copy of copies) digest.add(copy, this.#untilMs);
      advanced(digest.count('task'));
    }
    return digest;
  }
}

/** By tenant: digests that have the idempotency records. */
async function answersOf(store: CheckedStore, untilMs: number): Promise<Map<string, TenantDigest>> {
  const digests = new Map<string, TenantDigest>();
  for (let place: string | null = null; ; ) {
    const page = await store.recallAll(place);
    for (const { tenant, answer } of page.answers) {
      const digest = digests.get(tenant) ?? new TenantDigest();
      digest.add(answer, untilMs);
      digests.set(tenant, digest);
    }
    if (page.next === null) return digests;
    place = page.next;
  }
}

async function countTenants(store: CheckedStore): Promise<number> {
  let count = 0;
  for await (const tenant of tenantsOf(store)) if (tenant !== SERVICE) count++;
  return count;
}

/** How each kind of copy is called in a difference. */
const WORDS = {
  document: 'documents',
  task: 'tasks',
  usage: 'records of usage',
  answer: 'idempotency records',
} as const;

function differenceOf(source: TenantDigest, target: TenantDigest): string | null {
  const texts = source.differences(target).map(kind => {
    const [first, second] = [source.count(kind), target.count(kind)];
    return first === second
      ? `the contents of the ${first} ${WORDS[kind]} differ`
      : `${first} ${WORDS[kind]} in the source, ${second} in the target`;
  });
  return texts.length === 0 ? null : texts.join('; ');
}
