import { LRUCache } from 'lru-cache';
import { threadAnswer } from '../../../base/threads/questions.ts';
import type { AskedLimit, RestHead } from '../http/http.ts';
import { type ApiCall, type ApiLimits, type ApiLimitVerdict, kindOf } from '../http/parts.ts';
import type { CallLimit, VerdictMessage } from './messages.ts';

/** Maximum number of callers that are remembered. */
const MAX_CALLERS = 10_000;
/** Maximum number of characters in their `Authorization` fields. JSON Web Tokens may be long. */
const MAX_CALLER_CHARACTERS = 8 * 1024 * 1024;

/** The API limits in the thread with the decision engine. */
export interface EngineLimits extends ApiLimits {
  /** False while no rules limit calls: nothing has to be asked then. */
  readonly active: boolean;
}

/**
 * Checks the API limits of a call when it is sent to a REST thread. Otherwise the thread would have to send a message
 * and wait for the verdict, for each call.
 *
 * The limits apply to users, and the head of a call contains a token instead. The REST thread names the user of a token
 * when it asks about the first call. It uses a verdict only if the call turns out to be a call of the same user.
 */
export class EarlyLimits {
  readonly #limits: EngineLimits;
  /** By tenant and `Authorization` field, because a token is valid in one tenant only. */
  readonly #callers = new LRUCache<string, Caller>({
    max: MAX_CALLERS,
    maxSize: MAX_CALLER_CHARACTERS,
    sizeCalculation: (_, name) => name.length,
  });

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  /**
   * Counts a call that is being sent, if its user is known.
   *
   * @param heard called with the verdict, soon
   */
  count(tenant: string, head: RestHead, heard: (verdict: VerdictMessage) => void): CallLimit {
    if (!this.#limits.active) return 'none';
    const caller = this.#callers.get(callerName(tenant, head.headers.authorization ?? ''));
    if (caller === undefined) return 'unknown_caller';
    void this.#verdict(caller[kindOf(head.method)]).then(heard);
    return caller.limit;
  }

  /** Counts a call that a REST thread asks about, and remembers its user. */
  ask(call: ApiCall, authorization: string): Promise<VerdictMessage> {
    if (call.onlyAsks === true) return this.#verdict(call);
    const name = callerName(call.tenant, authorization);
    // Calls with a token that is no longer valid must not count for the tenant.
    if (call.user === '') this.#callers.delete(name);
    else if (!this.#callers.has(name)) this.#callers.set(name, callerOf(call));
    return this.#verdict(call);
  }

  #verdict(call: ApiCall): Promise<VerdictMessage> {
    return threadAnswer(() => this.#limits.ask(call, ''));
  }
}

/** The questions about calls of a user. The objects are reused for each call. */
interface Caller {
  readonly limit: CallLimit;
  readonly read: ApiCall;
  readonly write: ApiCall;
}

function callerOf({ tenant, user }: ApiCall): Caller {
  return {
    limit: { user },
    read: { tenant, kind: 'read', user },
    write: { tenant, kind: 'write', user },
  };
}

function callerName(tenant: string, authorization: string): string {
  return `${tenant}\n${authorization}`;
}

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
