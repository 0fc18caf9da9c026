import { SECOND_MS } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import type { RateLimitRequest } from '../messages/client-codec.ts';
import { formatDuration } from '../settings/kinds/go-numbers.ts';
import { type Json, listOf, operatorApi, printAnswer } from './operator/operator-call.ts';
import { type CliIo, UsageFault } from './terminal/io.ts';
import { linesText, tableLines } from './terminal/layout.ts';
import { rateText } from './terminal/rate-text.ts';

/** The flags that matter. */
interface BucketFlags {
  readonly 'debug-address': string;
  readonly timeout: string;
  readonly json: boolean;
}

/**
 * `sluice explain --bucket`: asks what proxies would get of a bucket, and prints why.
 *
 * @throws CommandFault when the arguments are wrong or there is no explanation
 */
export async function explainBucket(
  { domain, descriptors }: RateLimitRequest,
  flags: BucketFlags,
  io: CliIo,
): Promise<number> {
  if (descriptors.length !== 1)
    throw new UsageFault('--bucket explains one bucket: give --descriptors once.');
  const [{ entries }] = descriptors;
  const answer = await operatorApi(io, flags)('POST', '/quotas/explain', { domain, entries });
  return printAnswer(io, flags, answer, () => bucketText(domain, answer, io.columns));
}

function bucketText(domain: string, answer: Json, columns: number | null): string {
  const { verdict, why, rate, grant_seconds: seconds } = answer;
  const entries = listOf(answer['entries']).map(({ key, value }) => `${key}=${value}`);
  const rows = [
    ['  why', String(why)],
    ...(rate === null
      ? []
      : [
          [
            '  rate',
            `${rateText(Number(rate))} requests per second for all proxies, for ${seconds}s each time`,
          ],
        ]),
    ...listOf(answer['limits']).map(limit => ['  limit', limitText(limit)]),
  ];
  return linesText([
    printable(`${domain} ${entries.join(',')}: ${verdictText(verdict)}; nothing was counted`),
    ...tableLines(rows, columns),
  ]);
}

function verdictText(verdict: unknown): string {
  if (verdict === 'divided') return 'proxies would get a part of the limits';
  return verdict === 'deny_all' ? 'proxies would deny all requests' : 'proxies would allow all requests';
}

function limitText({ total, grantable, seconds }: Json): string {
  const length =
    typeof seconds === 'number' ? `per ${formatDuration(seconds * SECOND_MS)}` : 'in a token bucket';
  const part =
    grantable === null ? ', in shadow mode' : grantable === total ? '' : `, ${grantable} for proxies`;
  return `${total} ${length}${part}`;
}
