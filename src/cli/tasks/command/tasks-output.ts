import { printable } from '../../../base/printable.ts';
import { aligned } from '../../terminal/aligned.ts';
import type { CliIo } from '../../terminal/io.ts';
import type { Json } from './tasks-api.ts';

/** An answer as one line of JSON. */
export function printJson(answer: unknown, io: CliIo): void {
  io.stdout(`${JSON.stringify(answer)}\n`);
}

/** One line for people. */
export function printLine(line: string, io: CliIo): void {
  io.stdout(`${printable(line)}\n`);
}

/** Rows below a head, in columns. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[], io: CliIo): void {
  for (const line of aligned([head, ...rows])) printLine(line, io);
}

/** Everything that an answer has, a field a line. */
export function printFields(answer: Json, io: CliIo): void {
  const rows = Object.entries(answer).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  for (const line of aligned(rows)) printLine(line, io);
}

/** A line, or with `--json` the answer. */
export function report(answer: Json, line: string, flags: { readonly json: boolean }, io: CliIo): void {
  if (flags.json) printJson(answer, io);
  else printLine(line, io);
}

/** `2026-03-01T10:00:00.123Z` as tables show it: `2026-03-01 10:00:00Z`. Empty for no time. */
export function timeText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return String(value).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?/, '$1 $2');
}
