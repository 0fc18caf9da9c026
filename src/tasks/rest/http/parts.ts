import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import type { UrlRules } from '../../delivery/worker-url.ts';
import type { VerifiedTokens } from '../../identity/verified-tokens.ts';
import type { Role, TenantLimits } from '../../model/documents.ts';
import type { IdMaker } from '../../model/ids.ts';
import type { Signals } from '../../model/signals.ts';
import type { LimitAsker } from '../../scheduler/attempts/start-limits.ts';
import type { PullDesk } from '../../scheduler/pull/pull-desk.ts';
import type { WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import type { Directory } from '../../store/directory.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** Dependencies of the route handlers. */
export interface RestParts {
  readonly store: TaskStore;
  readonly directory: Directory;
  readonly signals: Signals;
  readonly sealer: Sealer;
  readonly pullDesk: PullDesk;
  readonly tester: WorkerTester;
  /** Whether a tenant has used its share of the push deliveries of this process. */
  readonly usedShares: { has(tenant: string): boolean };
  readonly limitAsker: Pick<LimitAsker, 'ask'>;
  readonly apiLimits: ApiLimits;
  /** Null if no identity provider is configured. */
  readonly identities: VerifiedTokens | null;
  readonly ids: IdMaker;
  readonly clock: Clock;
  /** Returns random bytes for tokens and leases. */
  readonly randomBytes: (count: number) => Buffer;
  readonly logger: Logger;
  readonly config: RestConfig;
}

export interface RestConfig {
  /** `{domain}.<this>` is the host of a tenant. */
  readonly serviceHost: string;
  /** The scheme and the port of URLs in responses; port 0 stands for the default port of the scheme. */
  readonly scheme: 'http' | 'https';
  readonly publicPort: number;
  readonly signup: 'operator' | 'loopback' | 'open';
  /** Empty if the operator API is disabled. */
  readonly operatorToken: string;
  /** Whether `X-Tenant-Domain` may name the tenant. */
  readonly tenantHeader: boolean;
  readonly jwt: JwtConfig;
  /** The rules for URLs of workers. Deliveries check the same rules. */
  readonly urls: UrlRules;
  readonly limits: TenantLimits;
  /** Domains of the decision service that the `limit` of workers may name. */
  readonly limitDomains: readonly string[];
  /** Signs cursors. */
  readonly cursorKey: Buffer;
}

/** The use of tokens of the identity provider. */
export interface JwtConfig {
  /** The claim with the domain of the tenant; empty if only the host or the header names the tenant. */
  readonly tenantClaim: string;
  /** Whether unknown users are created, with the default role. */
  readonly autoProvision: boolean;
  readonly defaultRole: Exclude<Role, 'owner'>;
}

/** The user of a call for accounts with the token of the operator. */
export const OPERATOR = 'operator';

/** Asks the decision engine about a call of a tenant; see the rules of domain `sluice_api`. */
export interface ApiLimits {
  /** @param authorization the `Authorization` field of the call; empty if it has none */
  ask(call: ApiCall, authorization: string): Promise<ApiLimitVerdict>;
}

export interface ApiCall {
  readonly tenant: string;
  readonly kind: CallKind;
  /** The id of the user or the worker, or {@link OPERATOR}; empty for a caller without a valid token. */
  readonly user: string;
  /** The call is not counted: how much of the limits is used? */
  readonly onlyAsks?: true;
}

export interface ApiLimitVerdict {
  readonly allowed: boolean;
  /** The limit with the least remaining quota; null if no rule applies. */
  readonly nearest: {
    readonly limit: number;
    readonly remaining: number;
    /** Null if the rules have limits whose windows an answer cannot tell. */
    readonly windowSeconds: number | null;
    readonly resetSeconds: number;
  } | null;
}

/** The kinds of calls with API limits of their own. */
export type CallKind = 'read' | 'write';

/** The kind of a call by its method. */
export function kindOf(method: string): CallKind {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
