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

/** What routes are made from. */
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
  /** Null without an identity provider. */
  readonly identities: VerifiedTokens | null;
  readonly ids: IdMaker;
  readonly clock: Clock;
  /** So many random bytes, for tokens and leases. */
  readonly randomBytes: (count: number) => Buffer;
  readonly logger: Logger;
  readonly config: RestConfig;
}

export interface RestConfig {
  /** `{domain}.<this>` is the host of a tenant. */
  readonly serviceHost: string;
  /** `https`, or `http` where callers reach the port itself, and the port as it is shown in URLs; 0 for the usual one. */
  readonly scheme: 'http' | 'https';
  readonly publicPort: number;
  readonly signup: 'operator' | 'loopback' | 'open';
  /** Empty: there is none. */
  readonly operatorToken: string;
  /** `X-Tenant-Domain` may name the tenant. */
  readonly tenantHeader: boolean;
  readonly jwt: JwtConfig;
  /** What URLs workers may have; the same that deliveries check. */
  readonly urls: UrlRules;
  readonly limits: TenantLimits;
  /** Domains of the decision service whose limits workers may name. */
  readonly limitDomains: readonly string[];
  /** Signs cursors. */
  readonly cursorKey: Buffer;
}

/** How tokens of the identity provider are used. */
export interface JwtConfig {
  /** The claim with the domain of the tenant; empty: only the host or the header names it. */
  readonly tenantClaim: string;
  /** Creates users who are not known yet, with this role. */
  readonly autoProvision: boolean;
  readonly defaultRole: Exclude<Role, 'owner'>;
}

/** Asks the decision engine about a call of a tenant; see the rules of domain `sluice_api`. */
export interface ApiLimits {
  /** @param authorization the `Authorization` field of the call; empty if it has none */
  ask(call: ApiCall, authorization: string): Promise<ApiLimitVerdict>;
}

export interface ApiCall {
  readonly tenant: string;
  readonly kind: CallKind;
  /** The user, the worker, or empty for a caller without a token. */
  readonly user: string;
}

export interface ApiLimitVerdict {
  readonly allowed: boolean;
  /** The limit that is nearest to its end; null when no rule applies. */
  readonly nearest: {
    readonly limit: number;
    readonly remaining: number;
    readonly windowSeconds: number;
    readonly resetSeconds: number;
  } | null;
}

/** The two kinds of calls, which have limits of their own. */
export type CallKind = 'read' | 'write';

/** The kind of a call by its method. */
export function kindOf(method: string): CallKind {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
