import { SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type {
  DescriptorExplanation,
  ExplainedCount,
  Explanation,
} from '../../decision/explain/explain-descriptor.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { aligned } from '../terminal/aligned.ts';

/** The explanation for people: the overall code, a line for each descriptor, then for each how that came about. */
export function explanationText({ descriptors, answer }: Explanation): string {
  const lines = [
    `${answer['overallCode']} would be the answer; nothing was counted`,
    ...aligned(descriptors.map(cells)),
    ...descriptors.flatMap(each => ['', ...details(each)]),
  ];
  return lines.map(line => `${printable(line)}\n`).join('');
}

/** As it is printed, so that columns are as wide as they look. */
function nameOf({ entries }: DescriptorExplanation): string {
  return printable(entries.map(({ key, value }) => `${key}=${value}`).join(','));
}

function cells(each: DescriptorExplanation): string[] {
  return [nameOf(each), String(each.status['code']), ...limitCells(each)];
}

function limitCells(each: DescriptorExplanation): string[] {
  const { outcome, limit, count, window } = each;
  if (outcome !== 'limited' || limit === undefined) return [outcome];
  const cells = [`${limit.requestsPerUnit} per ${limit.unit.toLowerCase()}`];
  if (count == null) cells.push('count unknown', '');
  else cells.push(`${count.now} used`, effect(each, count));
  if (window !== undefined) cells.push(`resets in ${formatDuration(window.resetSeconds * SECOND_MS)}`);
  return cells;
}

function effect({ isRefund }: DescriptorExplanation, { after, heldBack }: ExplainedCount): string {
  if (heldBack) return 'held back';
  return isRefund ? `${after} after this refund` : `${after} with this request`;
}

function details(each: DescriptorExplanation): string[] {
  const { limit, key, window, why } = each;
  const rows: [name: string, text: string][] = [['why', why]];
  if (limit?.rule != null) rows.push(['rule', [limit.rule, ...modes(each)].join(', ')]);
  if (key !== undefined) rows.push(['key', key]);
  if (window !== undefined) rows.push(['window', `${window.start} to ${window.end}`]);
  if (limit !== undefined) rows.push(['statistics', limit.statistics]);
  return [nameOf(each), ...aligned(rows).map(row => `  ${row}`)];
}

function modes({ limit }: DescriptorExplanation): string[] {
  const name = limit?.name ?? '';
  return [
    ...(name === '' ? [] : [`named ${name}`]),
    ...(limit?.shadowMode === true ? ['in shadow mode'] : []),
    ...(limit?.quotaMode === true ? ['in quota mode'] : []),
  ];
}
