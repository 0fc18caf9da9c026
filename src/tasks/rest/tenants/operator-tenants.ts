import { formatTime } from '../../model/time.ts';
import { isDomainText } from '../access/tenant-host.ts';
import { OperatorAccounts, type OperatorCall } from '../accounts/operator-accounts.ts';
import { Problem } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import type { RestAnswer } from '../http/route.ts';
import type { TenantAsk, TenantListAsk } from '../http/tenant-ask.ts';
import { figuresOf, figuresOfMany, tenantView } from './tenant-figures.ts';
import { MAX_TENANTS, TenantRanking } from './tenant-ranking.ts';

/**
 * Answers what the operator's API of the debug port asks about tenants. Changes are those of the accounts interface, with
 * the same entries in the audit log of the tenant.
 */
export class OperatorTenants {
  readonly #parts: RestParts;
  readonly #accounts: OperatorAccounts;
  readonly #ranking: TenantRanking;

  constructor(parts: RestParts) {
    this.#parts = parts;
    this.#accounts = new OperatorAccounts(parts);
    this.#ranking = new TenantRanking(parts.store, parts.clock);
  }

  /** @throws Problem tenant_not_found, invalid_transition, validation_failed, not_found, overloaded */
  async handle(ask: TenantAsk, requestId: string): Promise<RestAnswer> {
    if (ask.kind === 'list') return this.#list(ask);
    if (!isDomainText(ask.domain)) throw noSuchTenant();
    const call = (body: OperatorCall['body'], reason?: string): OperatorCall => ({
      path: '',
      params: { domain: ask.domain },
      query: {},
      body,
      requestId,
      idempotency: null,
      nowMs: this.#parts.clock.nowMs(),
      ...(reason !== undefined && { reason }),
    });
    if (ask.kind === 'owner_token') return this.#accounts.createOwnerToken(call({}));
    if (ask.kind === 'read') return this.#details(await this.#accounts.read(call({})), ask.domain);
    const { status, limits, reason } = ask;
    const body = { ...(status !== undefined && { status }), ...(limits !== undefined && { limits }) };
    const changed = await this.#accounts.change(call(body, reason));
    this.#ranking.changed();
    return this.#details(changed, ask.domain);
  }

  /** The figures of the page are those of now. Only the order and the selection can be older. */
  async #list(ask: TenantListAsk): Promise<RestAnswer> {
    const { store, clock } = this.#parts;
    const { offset, count } = ask;
    const { domains, atMs, isCut } = await this.#ranking.find(ask);
    const page = domains.slice(offset, offset + count);
    const { figures, unreadable, failure } = await figuresOfMany(store, page);
    if (figures.length === 0 && failure !== null) throw failure;
    const nowMs = clock.nowMs();
    return {
      status: 200,
      json: {
        time: formatTime(nowMs),
        ordered_at: formatTime(atMs),
        total: domains.length,
        cut_at: isCut ? MAX_TENANTS : null,
        offset,
        tenants: await Promise.all(figures.map(each => tenantView(store, each, nowMs))),
        unreadable,
      },
    };
  }

  async #details({ json }: RestAnswer, domain: string): Promise<RestAnswer> {
    const { store, clock } = this.#parts;
    const figures = await figuresOf(store, domain);
    if (figures === null) throw noSuchTenant();
    const nowMs = clock.nowMs();
    const view = await tenantView(store, figures, nowMs);
    return { status: 200, json: { ...(json as object), ...view, time: formatTime(nowMs) } };
  }
}

function noSuchTenant(): Problem {
  return new Problem('tenant_not_found', 'There is no account with this domain.');
}
