import type { Hints } from './hints.ts';

const TENANTS_A_PAGE = 100;

/** What the hints should say of a tenant. Null: nothing waits for a time. */
export interface Survey {
  readonly reapAt: number | null;
  readonly documentsAt: number | null;
  readonly workers: readonly { readonly workerId: string; readonly at: number }[];
}

/**
 * Puts hints back. A process that dies between its script and its hints leaves a task that nobody would look for; this
 * finds it, whoever made it.
 */
export class Sweeper {
  readonly #hints: Hints;
  readonly #survey: (tenant: string, wakes: boolean) => Promise<Survey>;

  constructor(hints: Hints, survey: (tenant: string, wakes: boolean) => Promise<Survey>) {
    this.#hints = hints;
    this.#survey = survey;
  }

  /** Looks through all tenants, one after the other: it is in no hurry. */
  async sweep(): Promise<void> {
    let after: string | null = null;
    for (;;) {
      const tenants: readonly string[] = await this.#hints.tenants(after, TENANTS_A_PAGE);
      for (const tenant of tenants) await this.#sweepTenant(tenant);
      if (tenants.length < TENANTS_A_PAGE) break;
      after = tenants[tenants.length - 1];
    }
    this.#hints.flush();
  }

  async #sweepTenant(tenant: string): Promise<void> {
    const { reapAt, documentsAt, workers } = await this.#survey(tenant, true);
    if (reapAt !== null) this.#hints.lower('reap', tenant, tenant, reapAt);
    if (documentsAt !== null) this.#hints.lower('docs', tenant, tenant, documentsAt);
    for (const { workerId, at } of workers) this.#hints.wake(tenant, workerId, at);
  }
}
