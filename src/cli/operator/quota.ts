import { SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { integer } from '../../settings/kinds/kinds.ts';
import { describeFlags, parseFlags, readFlag, refuseArguments, textFlag } from '../terminal/flags.ts';
import { type CliIo, UsageFault } from '../terminal/io.ts';
import { headedTableLines, linesText } from '../terminal/layout.ts';
import { rateText } from '../terminal/rate-text.ts';
import {
  DEBUG_ADDRESS,
  entriesOf,
  type Json,
  listOf,
  operatorApi,
  printAnswer,
  requireFlags,
} from './operator-call.ts';

const FLAGS = {
  'debug-address': DEBUG_ADDRESS,
  domain: textFlag('NAME', 'only buckets of this domain'),
  descriptors: textFlag(
    'K=V[,K2=V2...]',
    'only the bucket with these entries, in any order, and its proxies',
  ),
  count: textFlag('N', 'number of buckets, at most 500', '100'),
  timeout: textFlag('DURATION', 'how long to wait for the answer', '5s'),
  json: { kind: 'switch', help: 'print the answer as one line of JSON' },
} as const;

export const usage = `Usage: sluice quota [flags]

Lists the buckets that proxies report to a running service with the rate limit
quota protocol, those with the most demand first: requests per second, the part
of the limits that is paid, and what is left to grant. With --descriptors, shows
one bucket with what each proxy was granted. Each process shows its own streams.

Flags:
${describeFlags(FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-". In a
descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 the buckets were printed, 2 they were not.

Examples:
  sluice quota
  sluice quota --domain api --count 20
  sluice quota --domain api --descriptors plan=free,user=ann
`;

/**
 * `sluice quota`: the buckets that proxies report, and what they were granted.
 *
 * @throws CommandFault when the arguments are wrong or there is no answer
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, FLAGS);
  refuseArguments(positionals);
  const { domain, descriptors } = flags;
  const call = operatorApi(io, flags);
  const count = readFlag('count', flags.count, integer({ min: 1, max: 500 }));
  if (descriptors === '') {
    const query = new URLSearchParams({ count: String(count), ...(domain !== '' && { domain }) });
    const answer = await call('GET', `/quotas?${query}`);
    return printAnswer(io, flags, answer, () => listText(answer, io.columns));
  }
  requireFlags(flags, ['domain']);
  const entries = entriesOf(descriptors);
  if (entries.some(({ value = '' }) => value === ''))
    throw new UsageFault('--descriptors: every entry of a bucket has a value; write key=value,key=value.');
  const answer = await call('POST', '/quotas/read', { domain, entries });
  return printAnswer(io, flags, answer, () => bucketText(answer, `${domain} ${descriptors}`, io.columns));
}

function listText(answer: Json, columns: number | null): string {
  const { total, streams } = answer;
  const buckets = listOf(answer['buckets']);
  const head = ['BUCKET', 'DEMAND/S', 'ALLOWED/S', 'DENIED/S', 'RATE/S', 'PROXIES', 'LEFT'];
  const rows = buckets.map(bucket => [
    nameOf(bucket),
    ...usageCells(bucket),
    shareText(bucket),
    String(bucket['proxies_total']),
    leftText(bucket),
  ]);
  return linesText([
    `${buckets.length} of ${total} buckets, ${streams === 1 ? '1 stream' : `${streams} streams`}: ${usageText(answer)}`,
    ...(buckets.length === 0 ? [] : headedTableLines(head, rows, columns)),
    ...missingLines(answer),
  ]);
}

/** The bucket, a table of its limits, and one of its proxies. */
function bucketText(answer: Json, name: string, columns: number | null): string {
  const [bucket] = listOf(answer['buckets']);
  if (bucket === undefined)
    return linesText([printable(`${name}: no proxy reports this bucket`), ...missingLines(answer)]);
  const limits = listOf(bucket['limits']);
  const proxies = listOf(bucket['proxies']);
  const more = Number(bucket['proxies_total']) - proxies.length;
  return linesText([
    printable(`${nameOf(bucket)}: ${verdictText(bucket)}`),
    `${bucket['proxies_total'] === 1 ? '1 proxy' : `${bucket['proxies_total']} proxies`}: ${usageText(bucket)}`,
    ...(limits.length === 0 ? [] : ['', ...headedTableLines(LIMIT_HEAD, limits.map(limitCells), columns)]),
    '',
    ...headedTableLines(PROXY_HEAD, proxies.map(proxyCells), columns),
    ...(more > 0 ? [`and ${more} more with less demand`] : []),
    ...missingLines(answer),
  ]);
}

const LIMIT_HEAD = ['LIMIT', 'PAID', 'SPENT', 'UNREPORTED', 'LEFT', 'WINDOW ENDS'];

function limitCells(limit: Json): string[] {
  const { paid, spent, unreported, left, window_end: end } = limit;
  const known = spent === null ? '' : hitsText(spent);
  return [limitText(limit), hitsText(paid), known, hitsText(unreported), hitsText(left), String(end ?? '')];
}

const PROXY_HEAD = ['PROXY', 'DEMAND/S', 'ALLOWED/S', 'DENIED/S', 'GRANTED', 'ENDS'];

function proxyCells(proxy: Json): string[] {
  const { peer, told, tokens, interval_seconds: seconds, ends } = proxy;
  const granted = told === 'token_bucket' ? grantText(tokens, seconds) : String(told).replace('_', ' ');
  return [peer === '' ? 'unix socket' : String(peer), ...usageCells(proxy), granted, String(ends ?? '')];
}

/** A proxy whose token bucket has ended may have another one soon. */
function grantText(tokens: unknown, seconds: unknown): string {
  return typeof tokens === 'number' ? `${tokens} per ${seconds}s` : 'ended';
}

function verdictText({
  verdict,
  unserved,
  rate,
  cap,
  grant_seconds: seconds,
  more_from: from,
}: Json): string {
  if (unserved === true) return 'not limited: the rule has leases or a penalty, which proxies cannot share';
  if (verdict === 'allow_all') return 'all requests are allowed';
  if (verdict === 'deny_all') return 'all requests are denied';
  const most = typeof cap === 'number' ? `, ${rateText(cap)} each` : '';
  const again = typeof from === 'string' ? `; more from ${from}` : '';
  return `at most ${rateText(Number(rate))} per second for all proxies${most}, for ${seconds}s each time${again}`;
}

function nameOf(bucket: Json): string {
  const entries = listOf(bucket['entries']).map(({ key, value }) => `${key}=${value}`);
  return `${bucket['domain']} ${entries.join(',')}`;
}

function usageCells({ per_second: perSecond }: Json): string[] {
  const { demand, allowed, denied } = perSecond as Json;
  return [demand, allowed, denied].map(rate => rateText(Number(rate)));
}

function usageText(source: Json): string {
  const [demand, allowed, denied] = usageCells(source);
  return `${demand} requests per second, ${allowed} allowed, ${denied} denied`;
}

/** What all proxies together may be granted, or what is special about the bucket. */
function shareText({ verdict, unserved, rate }: Json): string {
  if (unserved === true) return 'not limited';
  return verdict === 'divided' ? rateText(Number(rate)) : String(verdict).replace('_', ' ');
}

/** Of the limit of which the smallest part is left. */
function leftText(bucket: Json): string {
  const share = ({ left, grantable }: Json) => Number(left) / Math.max(1, Number(grantable));
  const refusing = listOf(bucket['limits']).filter(
    ({ left, grantable }) => left !== null && grantable !== null,
  );
  const [least] = refusing.sort((a, b) => share(a) - share(b));
  return least === undefined ? '' : `${hitsText(least['left'])} of ${limitText(least)}`;
}

function limitText({ total, seconds, grantable }: Json): string {
  const length =
    typeof seconds === 'number' ? ` per ${formatDuration(seconds * SECOND_MS)}` : ' in a token bucket';
  return `${total}${length}${grantable === null ? ' (shadow mode)' : ''}`;
}

function hitsText(hits: unknown): string {
  return typeof hits === 'number' ? String(Math.round(hits)) : 'unknown';
}

function missingLines({ complete }: Json): string[] {
  return complete === false ? ['A serving thread did not answer in time: its streams are missing.'] : [];
}
