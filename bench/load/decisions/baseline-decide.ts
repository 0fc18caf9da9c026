import type { Redis } from 'ioredis';
import type { BenchRule } from './rules.ts';

/** A request as `@grpc/proto-loader` and `JSON.parse` give it, in so far as the baseline reads it. */
export interface BaselineRequest {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value: string }[];
  }[];
  readonly hitsAddend?: number;
}

export interface BaselineStatus {
  readonly code: 'OK' | 'OVER_LIMIT';
  readonly currentLimit?: { readonly requestsPerUnit: number; readonly unit: 'YEAR' };
  readonly limitRemaining?: number;
  readonly durationUntilReset?: { readonly seconds: number };
}

export interface BaselineResponse {
  readonly overallCode: 'OK' | 'OVER_LIMIT';
  readonly statuses: readonly BaselineStatus[];
}

/** A level of rules: by key and value, or by key alone. */
export type RuleLevel = Map<string, RuleNode>;
interface RuleNode {
  readonly limit: number | undefined;
  readonly below: RuleLevel;
}

const YEAR_S = 31_536_000;
const EXPIRY_JITTER_S = 300;

export function ruleLevel(rules: readonly BenchRule[]): RuleLevel {
  return new Map(
    rules.map(({ key, value, limit, below }) => [
      value === undefined ? key : `${key}_${value}`,
      { limit, below: ruleLevel(below ?? []) },
    ]),
  );
}

/**
 * Decides as one would write it down first: objects for everything, the rules in nested maps, and for each request one
 * pipeline with INCRBY and EXPIRE for each of its keys.
 */
export class BaselineDecider {
  readonly #redis: Redis;
  readonly #domains: ReadonlyMap<string, RuleLevel>;

  constructor(redis: Redis, domains: ReadonlyMap<string, RuleLevel>) {
    this.#redis = redis;
    this.#domains = domains;
  }

  async decide(request: BaselineRequest): Promise<BaselineResponse> {
    const nowS = Math.floor(Date.now() / 1_000);
    const hits = request.hitsAddend || 1;
    const limits = request.descriptors.map(({ entries }) => this.#limitOf(request.domain, entries));
    const pipeline = this.#redis.pipeline();
    request.descriptors.forEach(({ entries }, i) => {
      if (limits[i] === undefined) return;
      const parts = entries.map(({ key, value }) => `${key}_${value}`);
      const key = `${request.domain}_${parts.join('_')}_${nowS - (nowS % YEAR_S)}`;
      pipeline.incrby(key, hits);
      pipeline.expire(key, YEAR_S + Math.floor(Math.random() * EXPIRY_JITTER_S));
    });
    const replies = pipeline.length === 0 ? [] : ((await pipeline.exec()) ?? []);
    let next = 0;
    const statuses = limits.map((limit): BaselineStatus => {
      if (limit === undefined) return { code: 'OK' };
      const [failure, count] = replies[next];
      next += 2;
      if (failure !== null) throw failure;
      return statusOf(limit, Number(count), nowS);
    });
    const isOver = statuses.some(({ code }) => code === 'OVER_LIMIT');
    return { overallCode: isOver ? 'OVER_LIMIT' : 'OK', statuses };
  }

  #limitOf(
    domain: string,
    entries: readonly { readonly key: string; readonly value: string }[],
  ): number | undefined {
    let level = this.#domains.get(domain);
    let node: RuleNode | undefined;
    for (const { key, value } of entries) {
      node = level?.get(`${key}_${value}`) ?? level?.get(key);
      if (node === undefined) return undefined;
      level = node.below;
    }
    return node?.limit;
  }
}

function statusOf(limit: number, count: number, nowS: number): BaselineStatus {
  return {
    code: count > limit ? 'OVER_LIMIT' : 'OK',
    currentLimit: { requestsPerUnit: limit, unit: 'YEAR' },
    limitRemaining: Math.max(limit - count, 0),
    durationUntilReset: { seconds: YEAR_S - (nowS % YEAR_S) },
  };
}
