import type { Rate, Worker } from '../../../src/tasks/model/documents.ts';
import type { LimitService } from '../world/limit-service.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface Bucket {
  tokens: number;
  at: number;
}

/** Sums of fractions are not exact; a start too many is a whole token. */
const INEXACT = 0.5;

/** Looks how quickly tasks of a worker follow each other: rates, throttles, and limits of the decision service. */
export class PaceChecks {
  readonly #documents: KnownDocuments;
  readonly #limits: LimitService;
  readonly #report: Report;
  readonly #buckets = new Map<string, Bucket>();
  readonly #throttledUntil = new Map<string, number>();
  /** By tenant and limit: how many tasks have started. */
  readonly #limited = new Map<string, number>();

  constructor(documents: KnownDocuments, limits: LimitService, report: Report) {
    this.#documents = documents;
    this.#limits = limits;
    this.#report = report;
  }

  heard({ tenant, after, by, leaseId, happened: { operation, at } }: TaskChanged): void {
    if (after === null) return;
    const name = `${tenant}\n${after.workerId}`;
    if (by === 'started') {
      const until = this.#throttledUntil.get(name) ?? 0;
      if (until > at)
        this.#report(
          'pauses hold',
          `${after.id} started at ${at}, and its worker asked to be left alone until ${until}`,
        );
      this.#rate(tenant, after.workerId, after.id, at);
    } else if (operation.name === 'settle' && leaseId !== null) {
      const { throttleMs } = operation.args[1].find(each => each.leaseId === leaseId)!;
      if (throttleMs > 0)
        this.#throttledUntil.set(name, Math.max(at + throttleMs, this.#throttledUntil.get(name) ?? 0));
    }
  }

  #rate(tenant: string, workerId: string, taskId: string, at: number): void {
    const versions = this.#documents.versions(tenant, 'worker', workerId).flatMap(({ body }) => body ?? []);
    const [{ rate, limit = null }] = versions;
    if (versions.every(body => same(body.rate, rate)) && rate !== null)
      this.#take(`${tenant}\n${workerId}`, rate, taskId, at);
    if (limit !== null && versions.every(body => (body.limit ?? null) !== null))
      this.#limit(tenant, limit, taskId);
  }

  #take(name: string, { limit, perMs, burst }: Rate, taskId: string, at: number): void {
    const bucket = this.#buckets.get(name) ?? { tokens: burst, at };
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) * limit) / perMs) - 1;
    bucket.at = at;
    this.#buckets.set(name, bucket);
    if (bucket.tokens < -INEXACT)
      this.#report(
        'limits hold',
        `${taskId} started at ${at}: more than ${limit} in ${perMs} ms and ${burst} at once`,
      );
  }

  /** No task starts that the decision service has not permitted. */
  #limit(tenant: string, { descriptor }: NonNullable<Worker['limit']>, taskId: string): void {
    const { value } = descriptor[descriptor.length - 1];
    const name = `${tenant} ${value}`;
    const started = (this.#limited.get(name) ?? 0) + 1;
    this.#limited.set(name, started);
    const granted = this.#limits.grantedOf(tenant, value);
    if (started > granted)
      this.#report(
        'limits hold',
        `${taskId} started as the ${started}th of ${tenant}, and ${granted} were permitted`,
      );
  }
}

function same(one: Rate | null, other: Rate | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
