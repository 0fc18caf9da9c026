import { SECOND_MS } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import {
  CODE_NAMES,
  type DescriptorStatus,
  type RateLimitRequest,
  type RateLimitResponse,
  type RequestDescriptor,
} from '../../messages/client-codec.ts';
import { UNIT_NAMES } from '../../messages/current-limit.ts';
import { formatDuration } from '../../settings/kinds/go-numbers.ts';
import { linesText, tableLines } from '../terminal/layout.ts';

/** The remaining count that services report for an unlimited rule (spec 3.2). */
const UNLIMITED = 2 ** 32 - 1;

/** The response for people: the overall code, a line for each descriptor, then headers, body and metadata. */
export function responseText(
  request: RateLimitRequest,
  response: RateLimitResponse,
  columns: number | null,
): string {
  const lines = [
    codeName(response.overallCode),
    ...tableLines(
      response.statuses.map((status, i) => statusCells(request.descriptors[i], status)),
      columns,
    ),
    ...response.responseHeadersToAdd.map(header => `header ${header.key}: ${header.value}`),
  ];
  if (response.rawBody !== '') lines.push(`body ${response.rawBody}`);
  if (response.dynamicMetadata !== null) lines.push(`metadata ${JSON.stringify(response.dynamicMetadata)}`);
  return linesText(lines.map(printable));
}

function statusCells(descriptor: RequestDescriptor | undefined, status: DescriptorStatus): string[] {
  const entries = descriptor?.entries.map(entry => `${entry.key}=${entry.value}`).join(',');
  return [entries ?? '(not asked for)', codeName(status.code), ...limitCells(status)];
}

function limitCells(status: DescriptorStatus): string[] {
  const { currentLimit: limit, durationUntilReset } = status;
  if (limit === null) return [status.limitRemaining === UNLIMITED ? 'unlimited' : 'no limit'];
  const name = limit.name === '' ? '' : ` (${limit.name})`;
  const cells = [
    `${limit.requestsPerUnit} ${perUnit(limit.unit)}${name}`,
    `${status.limitRemaining} remaining`,
  ];
  if (durationUntilReset !== null) cells.push(`resets in ${formatDuration(durationUntilReset * SECOND_MS)}`);
  return cells;
}

/**
 * The response in proto3 JSON, on one line: fields at their default are left out, fields are in the order of the
 * schema, enums go by name (by number where they have none).
 */
export function responseJson(response: RateLimitResponse): string {
  const { dynamicMetadata, rawBody, responseHeadersToAdd } = response;
  return `${JSON.stringify({
    ...present('overallCode', enumJson(CODE_NAMES, response.overallCode)),
    ...present('statuses', response.statuses.map(statusJson)),
    ...present(
      'responseHeadersToAdd',
      responseHeadersToAdd.map(({ key, value }) => ({ ...present('key', key), ...present('value', value) })),
    ),
    ...present('rawBody', Buffer.from(rawBody).toString('base64')),
    ...(dynamicMetadata === null ? {} : { dynamicMetadata }),
  })}\n`;
}

function statusJson(status: DescriptorStatus): object {
  const { currentLimit: limit, durationUntilReset } = status;
  const currentLimit = limit && {
    ...present('name', limit.name),
    ...present('requestsPerUnit', limit.requestsPerUnit),
    ...present('unit', enumJson(UNIT_NAMES, limit.unit)),
  };
  return {
    ...present('code', enumJson(CODE_NAMES, status.code)),
    ...(currentLimit === null ? {} : { currentLimit }),
    ...present('limitRemaining', status.limitRemaining),
    ...(durationUntilReset === null ? {} : { durationUntilReset: durationJson(durationUntilReset) }),
  };
}

/** Seconds with no, three, six or nine decimal digits. */
function durationJson(seconds: number): string {
  return `${seconds.toFixed(9).replace(/\.?(000)+$/, '')}s`;
}

/** The field, or nothing where the value is the default of its type. */
function present(name: string, value: string | number | readonly unknown[]): object {
  const isDefault = Array.isArray(value) ? value.length === 0 : value === '' || value === 0;
  return isDefault ? {} : { [name]: value };
}

/** The name of an enum value; its number where that is the default, which is left out, or has no name. */
function enumJson(names: readonly string[], value: number): string | number {
  return value === 0 ? 0 : (names[value] ?? value);
}

function codeName(code: number): string {
  return CODE_NAMES[code] ?? `code ${code}`;
}

/** A limit on concurrency has no unit. */
function perUnit(unit: number): string {
  return unit === 0 ? 'at the same time' : `per ${UNIT_NAMES[unit]?.toLowerCase() ?? `unit ${unit}`}`;
}
