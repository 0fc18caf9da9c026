import { setTimeout as sleep } from 'node:timers/promises';
import { askOverGrpc } from '../../../test/support/asking.ts';
import { GrpcClient } from '../../../test/support/grpc-client.ts';
import type { QuotaTotals } from '../../support/quota-load/load.ts';
import { bucketValue } from '../../support/quota-load/report-frames.ts';
import { ALLOWED, DOMAIN, LIMITS, type LimitUnit, type QuotaCase } from './cases.ts';
import type { QuotaField } from './field.ts';

/** Statistics are read again until they are right: reports that were sent again may still be counted. */
const SETTLED_MS = 100;
const SETTLED_LOOKS = 40;

/** The longest time by which a grant may be used beyond its time to live, in seconds. */
const LATE_S = 2;

/** A proxy may still use the grant that its present one has replaced. */
const GRANTS_IN_USE = 2;

/** The numbers of the buckets whose counters are looked at. */
const SAMPLES = [0, 0.5, 1];

/** What the proxies of a case have done: before the measurements, and altogether. */
export interface Done {
  /**
   * The first proxies get most of a limit, until they report again. So there may be nothing left for the last ones, and
   * reports of proxies that keep their grants are not answered.
   */
  readonly warm: QuotaTotals;
  readonly totals: QuotaTotals;
}

/** One sentence if what the service has counted is not what proxies have reported and may still use; '' if it is. */
export async function quotaFault(field: QuotaField, measured: QuotaCase, done: Done): Promise<string> {
  const { warm, totals } = done;
  const answered = totals.reports * measured.proxies.buckets;
  const others = totals.others - warm.others;
  if (others > 0) return `${others} of ${answered} reports were not answered with a token bucket`;
  const actions = totals.tokenBuckets + totals.others;
  if (totals.unanswered === 0 && totals.others === 0 && actions !== answered)
    return `${answered} reports got ${actions} assignments`;
  let fault = '';
  for (let look = 0; look < SETTLED_LOOKS; look++) {
    await sleep(SETTLED_MS);
    fault = await statisticsFault(field, measured, done);
    if (fault === '') break;
  }
  // A window of a second has ended before it can be looked at.
  return fault === '' && measured.unit === 'minute' ? await counterFault(field, measured, totals) : fault;
}

async function statisticsFault(
  { service }: QuotaField,
  { unit, proxies }: QuotaCase,
  { warm, totals }: Done,
): Promise<string> {
  const page = await service.page('/stats');
  const figure = (name: string): number => Number(page.split(`\n${name}: `)[1]?.split('\n')[0] ?? 0);
  const sent = (totals.reports + totals.unanswered) * proxies.buckets;
  const wanted = [
    ['ratelimit.quota.reports', sent],
    ['ratelimit.quota.allowed', sent * ALLOWED],
    ['ratelimit.quota.store_errors', 0],
    [`ratelimit.service.rate_limit.${DOMAIN}.${unit}.total_hits`, sent * ALLOWED],
  ] as const;
  const wrong = wanted.find(([name, value]) => figure(name) !== value);
  if (wrong !== undefined) return `${wrong[0]} is ${figure(wrong[0])} and not ${wrong[1]}`;
  const isLate = figure('ratelimit.quota.late') > 0;
  const unanswered = totals.unanswered - warm.unanswered;
  return unanswered > 0 && !isLate ? `${unanswered} messages were not answered, and no round was late` : '';
}

async function counterFault(
  field: QuotaField,
  { unit, proxies }: QuotaCase,
  totals: QuotaTotals,
): Promise<string> {
  const { mostTokens, longestTtlS, minuteS } = totals;
  // Token buckets are filled every second, because the limit is large: one fill for each second, and two more.
  const granted = proxies.count * GRANTS_IN_USE * mostTokens * (longestTtlS + LATE_S + 2);
  const least = totals.sentInMinute * ALLOWED;
  const most = totals.answeredInMinute * ALLOWED + granted;
  for (const part of SAMPLES) {
    const value = bucketValue(Math.round((proxies.buckets - 1) * part));
    const count = await countOf(field, unit, value, minuteS);
    if (count === null) return '';
    if (count < least || count > most)
      return `the counter of ${value} is ${count}; ${least} to ${totals.answeredInMinute * ALLOWED} requests were reported in the minute, and up to ${granted} are granted`;
  }
  return '';
}

/** The count of a bucket in the minute that began at a time; null if it cannot be known any more. */
async function countOf(
  { service, redis }: QuotaField,
  key: LimitUnit,
  value: string,
  minuteS: number,
): Promise<number | null> {
  if (redis !== null) {
    const count = await redis.command('GET', `${DOMAIN}_${key}_${value}_${minuteS}`);
    return count === null ? 0 : Number(count);
  }
  const client = new GrpcClient({ host: '127.0.0.1', port: service.ports.grpc });
  try {
    const descriptor = { entries: [{ key, value }], limit: null, hitsAddend: 0 };
    const request = { domain: DOMAIN, descriptors: [descriptor], hitsAddend: 0 };
    const { statuses } = await askOverGrpc(client, request);
    const isSameMinute = Math.floor(Date.now() / 60_000) * 60 === minuteS;
    return isSameMinute ? LIMITS[key] - statuses[0].limitRemaining : null;
  } finally {
    client.close();
  }
}
