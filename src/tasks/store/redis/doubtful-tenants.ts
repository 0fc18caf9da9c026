import type { Clock, Timer } from '../../../base/clock.ts';
import { Fault } from '../../../base/fault.ts';

interface DoubtfulTenantsParts {
  /** Puts the hints of a tenant back. */
  readonly sweep: (tenant: string) => Promise<unknown>;
  readonly clock: Clock;
}

/** How long after a failure a tenant is looked at, and again until that goes well. */
const LOOK_MS = 1_000;
/** More are left to the sweep of all tenants. */
const MAX_TENANTS = 10_000;

/**
 * Tenants of which a write failed. It may have happened all the same, as when Redis was too slow to answer, and its hints
 * are not set then: they are put back soon, and not only by the next sweep of all tenants.
 */
export class DoubtfulTenants {
  readonly #parts: DoubtfulTenantsParts;
  readonly #tenants = new Set<string>();
  #timer: Timer | null = null;
  #stopped = false;

  constructor(parts: DoubtfulTenantsParts) {
    this.#parts = parts;
  }

  /** Fails as `write` does, and remembers the tenant where whether it happened is not known. */
  async around<T>(tenant: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (failure) {
      const isKnown = failure instanceof Fault && failure.code !== 'store_failed';
      if (!isKnown && this.#tenants.size < MAX_TENANTS) {
        this.#tenants.add(tenant);
        this.#lookLater();
      }
      throw failure;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #lookLater(): void {
    if (this.#stopped) return;
    this.#timer ??= this.#parts.clock.after(LOOK_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const tenants = [...this.#tenants];
    try {
      for (const tenant of tenants) {
        // Before the look: a write that fails meanwhile asks for another one.
        this.#tenants.delete(tenant);
        await this.#sweep(tenant);
      }
    } catch {
      // Redis does not answer yet; whoever asks it for something says so.
    }
    this.#timer = null;
    if (this.#tenants.size > 0) this.#lookLater();
  }

  async #sweep(tenant: string): Promise<void> {
    try {
      await this.#parts.sweep(tenant);
    } catch (failure) {
      this.#tenants.add(tenant);
      throw failure;
    }
  }
}
