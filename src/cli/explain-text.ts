import { SECOND_MS } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import type { DescriptorExplanation, Explanation } from '../decision/explain/explain-descriptor.ts';
import type { ExplainedCount, ExplainedCounting, ExplainedLimit } from '../decision/explain/explain-limit.ts';
import type { ExplainedPart } from '../decision/explain/explain-several.ts';
import { formatDuration } from '../settings/kinds/go-numbers.ts';
import { linesText, tableLines } from './terminal/layout.ts';

/**
 * The explanation for people: the overall code, a line for each descriptor, then the details of each descriptor.
 *
 * @param columns width of the terminal; null if nothing has to fit
 */
export function explanationText({ descriptors, answer }: Explanation, columns: number | null): string {
  const lines = [
    `${answer['overallCode']} would be the answer; nothing was counted`,
    ...tableLines(descriptors.map(cells), columns),
    ...descriptors.flatMap(each => ['', ...details(each, columns)]),
  ];
  return linesText(lines.map(printable));
}

/** The entries of the descriptor, escaped for a terminal. */
function nameOf({ entries }: DescriptorExplanation): string {
  return printable(entries.map(({ key, value }) => `${key}=${value}`).join(','));
}

function cells(each: DescriptorExplanation): string[] {
  const { outcome, limit, limits, isRefund, status } = each;
  const start = [nameOf(each), String(status['code'])];
  if (outcome !== 'limited' || limit === undefined) return [...start, outcome];
  const choice = limits === undefined ? '' : ` (${partName(limit)}, 1 of ${limits.length} limits)`;
  const resetSeconds = each.window?.resetSeconds ?? secondsOf(status['durationUntilReset']);
  return [
    ...start,
    rateText(limit) + choice,
    ...countCells(each.count ?? null, isRefund),
    ...(resetSeconds === null ? [] : [`resets in ${formatDuration(resetSeconds * SECOND_MS)}`]),
  ];
}

/** The seconds of a duration in proto3 JSON, such as `1.250s`; null if absent. */
function secondsOf(duration: unknown): number | null {
  return typeof duration === 'string' ? Number(duration.slice(0, -1)) : null;
}

/** What a limit allows: `5 per minute`, `100 in any 5m`, `100 per 1m, bursts of 20`, `5 at the same time`. */
function rateText({ requestsPerUnit, unit, window, algorithm, burst, lease }: ExplainedLimit): string {
  if (lease?.mode === 'concurrency') return `${requestsPerUnit} at the same time`;
  if (window === undefined) return `${requestsPerUnit} per ${unit.toLowerCase()}`;
  if (algorithm === 'sliding_window') return `${requestsPerUnit} in any ${window}`;
  const rate = `${requestsPerUnit} per ${window}`;
  return algorithm === 'token_bucket' ? `${rate}, bursts of ${burst}` : rate;
}

function countCells(count: ExplainedCount | null, isRefund: boolean): string[] {
  if (count === null) return ['count unknown', ''];
  return [`${count.now} used`, effect(count, isRefund)];
}

function effect({ after, heldBack, refused }: ExplainedCount, isRefund: boolean): string {
  if (heldBack) return 'held back';
  if (refused === true) return 'refused and not counted';
  return isRefund ? `${after} after this refund` : `${after} with this request`;
}

function details(each: DescriptorExplanation, columns: number | null): string[] {
  const { limit, limits, why, steering } = each;
  const rows: Row[] = [['why', why]];
  if (steering !== undefined) {
    const { id, effect, until, by, reason } = steering;
    rows.push(['steering', `${id}: ${effect}, until ${until}, by ${by}: ${reason}`]);
  }
  if (limits === undefined) {
    if (limit?.rule != null) rows.push(['rule', [limit.rule, ...modes(limit)].join(', ')]);
    if (limit?.overlay !== undefined) rows.push(['changed by overlay', limit.overlay]);
    rows.push(...leaseRows(limit), ...countingRows(each), ...afterLimitRows(each), ...quotaRows(limit));
    if (limit !== undefined) rows.push(['statistics', limit.statistics]);
  }
  return [
    nameOf(each),
    ...tableLines(indented(rows, '  '), columns),
    ...(limits ?? []).flatMap(part => partDetails(part, each.isRefund, columns)),
  ];
}

type Row = readonly [name: string, text: string];

function partDetails(part: ExplainedPart, isRefund: boolean, columns: number | null): string[] {
  const { limit, outcome, binds, why, count } = part;
  const about = binds ? ` binds: ${why}` : outcome === 'replaced' ? ` is replaced: ${why}` : '';
  const rows: Row[] = [['limit', [rateText(limit), ...modes(limit)].join(', ')]];
  if (limit.overlay !== undefined) rows.push(['changed by overlay', limit.overlay]);
  if (outcome !== 'replaced') {
    rows.push([
      'count',
      [...countCells(count ?? null, isRefund), outcome === 'over' ? 'over the limit' : '']
        .filter(text => text !== '')
        .join(', '),
    ]);
    rows.push(...leaseRows(limit), ...countingRows(part), ...afterLimitRows(part), ...quotaRows(limit));
  }
  rows.push(['statistics', limit.statistics]);
  return [
    `  ${printable(partName(limit))}${printable(about)}`,
    ...tableLines(indented(rows, '    '), columns),
  ];
}

/** The name of one of several limits, or what tells it apart. */
function partName({ name, window, algorithm }: ExplainedLimit): string {
  return name !== '' ? name : algorithm === 'fixed_window' ? `${window}` : `${window} ${algorithm}`;
}

function countingRows({
  key,
  window,
  level,
  class: own,
  penalty,
  leases,
}: Partial<ExplainedCounting>): Row[] {
  const rows: Row[] = [];
  if (key !== undefined) rows.push(['key', key]);
  if (window !== undefined) rows.push(['window', `${window.start} to ${window.end}`]);
  if (level !== undefined) rows.push(['level', level]);
  if (leases !== undefined) rows.push(['held', heldText(leases)], ['this request', leases.step]);
  if (own !== undefined) {
    const name = own.name === null ? 'none of the rule' : own.name;
    rows.push(['class', `${name}: may use ${own.share} of the limit, ${own.most} hits`]);
  }
  if (penalty !== undefined) rows.push(['penalty', penaltyText(penalty)]);
  return rows;
}

/** `30 held and 15 spent; 2 leases, the first one ends at 2026-11-28T10:00:00.000Z`. */
function heldText({ held, spent, count, firstEnds }: NonNullable<ExplainedCounting['leases']>): string {
  const leases = count === undefined ? '' : `; ${count === 1 ? '1 lease' : `${count} leases`}`;
  const first = firstEnds === null ? '' : `${leases === '' ? ';' : ','} the first one ends at ${firstEnds}`;
  return `${held} held and ${spent} spent${leases}${first}`;
}

/** What one of the requests of a limit is worth, and what its leases hold. */
function leaseRows({ scale, lease }: Pick<ExplainedLimit, 'scale' | 'lease'> = {}): Row[] {
  return [
    ...(scale === undefined ? [] : [['scale', `one request of the limit is worth ${scale} hits`] as const]),
    ...(lease === undefined ? [] : [['leases', leaseText(lease)] as const]),
  ];
}

function leaseText({
  mode,
  forSeconds,
  holder,
  estimate,
  zeroHits,
  overdraft,
}: NonNullable<ExplainedLimit['lease']>): string {
  const length = formatDuration(forSeconds * SECOND_MS);
  if (mode === 'once') return `of each ${holder}, only the first call in ${length} counts`;
  if (mode === 'concurrency') return `each ${holder} holds one, at most for ${length}`;
  const held =
    holder === ''
      ? `each call without hits holds ${estimate} for ${length}`
      : `each ${holder} holds hits for ${length}`;
  const named = holder !== '' && estimate !== undefined ? [`${estimate} without hits`] : [];
  const zero = zeroHits === 'settle' ? ['a later call without hits settles them'] : [];
  const beyond = overdraft === 'allow' ? ['hits beyond those that were held take no room'] : [];
  return [held, ...named, ...zero, ...beyond].join('; ');
}

function afterLimitRows({ limit, beyondLimit }: Pick<DescriptorExplanation, 'limit' | 'beyondLimit'>): Row[] {
  if (limit?.afterLimit === undefined) return [];
  const share = `${limit.afterLimit} of the hits beyond the limit pass`;
  if (beyondLimit === undefined) return [['after limit', share]];
  const { hits, passes } = beyondLimit;
  const effect = passes ? 'passes' : 'does not pass';
  return [['after limit', `${share}: this request ends with hit ${hits} beyond it, and ${effect}`]];
}

/** What proxies get of a limit. */
function quotaRows({ quota }: Pick<ExplainedLimit, 'quota'> = {}): Row[] {
  if (quota === undefined) return [];
  const length = formatDuration(quota.forSeconds * SECOND_MS);
  return [['quota', `proxies get at most ${quota.share} of the limit, for ${length} each time`]];
}

function penaltyText({
  violations,
  after,
  penalties,
  penalizedUntil,
}: NonNullable<ExplainedCounting['penalty']>): string {
  const earlier = penalties === 0 ? '' : `, ${penalties} ${penalties === 1 ? 'penalty' : 'penalties'} so far`;
  return penalizedUntil === null
    ? `not penalized: ${violations} of ${after} violations${earlier}`
    : `penalized until ${penalizedUntil}: all requests are rejected and not counted${earlier}`;
}

function indented(rows: readonly Row[], indent: string): Row[] {
  return rows.map(([name, text]) => [`${indent}${name}`, text]);
}

function modes({ name, shadowMode, quotaMode }: ExplainedLimit): string[] {
  return [
    ...(name === '' ? [] : [`named ${name}`]),
    ...(shadowMode ? ['in shadow mode'] : []),
    ...(quotaMode ? ['in quota mode'] : []),
  ];
}
