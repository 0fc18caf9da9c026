import type { AskedLimit } from '../http/http.ts';
import type { ApiLimitVerdict } from '../http/parts.ts';
import type { CallLimit, VerdictMessage } from './messages.ts';

/** The verdict about a call that the REST thread did not have to ask for. It may arrive after the call. */
export class EarlyVerdict implements AskedLimit {
  readonly user: string | null;
  #verdict: ApiLimitVerdict | Error | null = null;
  #waiting: PromiseWithResolvers<ApiLimitVerdict> | null = null;

  constructor(limit: Exclude<CallLimit, 'unknown_caller'>) {
    this.user = limit === 'none' ? null : limit.user;
    if (limit === 'none') this.#verdict = UNLIMITED;
  }

  heard([verdict, reason]: VerdictMessage): void {
    this.#verdict = verdict ?? new Error(reason);
    if (this.#verdict instanceof Error) this.#waiting?.reject(this.#verdict);
    else this.#waiting?.resolve(this.#verdict);
  }

  /** @throws Error (also as a rejection) if the call could not be checked */
  get(): ApiLimitVerdict | Promise<ApiLimitVerdict> {
    if (this.#verdict instanceof Error) throw this.#verdict;
    if (this.#verdict !== null) return this.#verdict;
    this.#waiting ??= Promise.withResolvers<ApiLimitVerdict>();
    return this.#waiting.promise;
  }
}

const UNLIMITED: ApiLimitVerdict = { allowed: true, nearest: null };
