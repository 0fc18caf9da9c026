import type { Descriptor, Entry } from '../../descriptor.ts';

/** Answers of `GET /quotas` and `POST /quotas/read`; docs/operator-api.md describes them. */

/** Requests per second that proxies get, and how they decided them. */
interface Usage {
  readonly demand: number;
  readonly allowed: number;
  readonly denied: number;
}

/** A limit of a bucket, in hits. */
export interface QuotaLimit {
  readonly total: number;
  /** The part that proxies may get; null in shadow mode. */
  readonly grantable: number | null;
  /** The length of the window; null for a token bucket. */
  readonly seconds: number | null;
  /** Null for a sliding window or a token bucket. */
  readonly window_end: string | null;
  readonly paid: number;
  /** Null for a sliding window or a token bucket, of which `paid` has only what was not reported. */
  readonly spent: number | null;
  readonly unreported: number;
  /** Null if the store has not said it. */
  readonly left: number | null;
  readonly paid_ahead: number;
}

/** A proxy in a bucket. */
export interface QuotaProxy {
  /** Empty for a unix socket. */
  readonly peer: string;
  readonly per_second: Usage;
  readonly told: 'nothing' | 'token_bucket' | 'allow_all' | 'deny_all';
  /** Of its token bucket; null without one. */
  readonly tokens: number | null;
  readonly interval_seconds: number | null;
  readonly ends: string | null;
  readonly reported: string | null;
}

/** A bucket that proxies report. */
export interface QuotaBucket {
  readonly domain: string;
  readonly entries: readonly Entry[];
  readonly verdict: 'divided' | 'allow_all' | 'deny_all';
  /** Whether its limits cannot be divided. */
  readonly unserved: boolean;
  readonly per_second: Usage;
  /** Requests per second of all proxies together; null if nothing is divided. */
  readonly rate: number | null;
  /** Requests per second of one proxy at most; null if there is enough for all. */
  readonly cap: number | null;
  readonly grant_seconds: number;
  /** When proxies that were denied everything can get something; null if there are none. */
  readonly more_from: string | null;
  readonly limits: readonly QuotaLimit[];
  readonly proxies_total: number;
  /** With the most demand first. */
  readonly proxies: readonly QuotaProxy[];
}

export interface Quotas {
  /** False if the streams of a thread are missing. */
  readonly complete: boolean;
  readonly streams: number;
  readonly total: number;
  readonly proxies: number;
  readonly per_second: Usage;
  readonly buckets: readonly QuotaBucket[];
}

/** The limit of which the smallest part is left; null if nothing of any is known. */
export function tightest({ limits }: QuotaBucket): QuotaLimit | null {
  const share = ({ left, grantable }: QuotaLimit) => (left ?? 0) / Math.max(1, grantable ?? 0);
  const known = limits.filter(({ left, grantable }) => left !== null && grantable !== null);
  return [...known].sort((a, b) => share(a) - share(b))[0] ?? null;
}

/** The parameters of the address for a bucket. */
export function bucketQuery({ domain, entries }: Descriptor): Readonly<Record<string, string>> {
  const list = entries.flatMap(({ key, value }) => [key, value]);
  return { view: 'quota', domain, bucket: JSON.stringify(list) };
}

/** Reads {@link bucketQuery}. An address that somebody has changed has no bucket: null. */
export function readBucketQuery(query: Readonly<Record<string, string>>): Descriptor | null {
  const { domain = '', bucket = '' } = query;
  let list: unknown;
  try {
    list = JSON.parse(bucket);
  } catch {
    return null;
  }
  if (domain === '' || !Array.isArray(list) || list.length === 0) return null;
  const texts = list.map(String);
  const entries = Array.from({ length: Math.ceil(texts.length / 2) }, (_, i) => ({
    key: texts[2 * i],
    value: texts[2 * i + 1] ?? '',
  }));
  return { domain, entries };
}
