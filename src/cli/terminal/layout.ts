import { printable } from '../../base/printable.ts';

/** Columns that help texts are written for, and the width of a terminal that does not tell its own. */
export const DEFAULT_COLUMNS = 80;

/** The lines as one text. */
export function linesText(lines: readonly string[]): string {
  return lines.map(line => `${line}\n`).join('');
}

const GAP = '  ';

/** Longer words of a table may be broken to make it fit. */
const LONGEST_WHOLE_WORD = 12;

/** The text in lines of at most this many characters, broken at spaces. Longer words are broken only with `hard`. */
export function wrapped(text: string, columns: number, hard = false): string[] {
  const lines: string[] = [];
  let line: string | null = null;
  for (const word of text.split(' ')) {
    if (line !== null && line.length + 1 + word.length <= columns) line = `${line} ${word}`;
    else {
      if (line !== null) lines.push(line);
      line = word;
    }
    while (hard && line.length > columns) {
      lines.push(line.slice(0, columns));
      line = line.slice(columns);
    }
  }
  return [...lines, line ?? ''];
}

/**
 * Rows as lines, with the cells of each column below one another.
 *
 * A table that is wider than the terminal loses its empty columns, then its widest columns become narrower and their
 * cells take several lines. The first column, which holds what people copy, keeps at least half of the terminal.
 *
 * @param columns width of the terminal; null if nothing has to fit
 */
export function tableLines(rows: readonly (readonly string[])[], columns: number | null): string[] {
  const cells = rows.map(row => row.map(printable));
  return linesOf(cells, fittedWidths(cells, columns ?? Infinity).widths);
}

/**
 * A table with a head. If its columns cannot be made narrow enough, each row becomes a block with one line for each
 * column.
 *
 * @param columns width of the terminal; null if nothing has to fit
 */
export function headedTableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | null,
): string[] {
  const limit = columns ?? Infinity;
  const all = [head, ...rows].map(row => row.map(printable));
  if (total(naturalWidths(all)) <= limit) return linesOf(all, naturalWidths(all));
  const used = head.map((_, column) => rows.some(row => (row[column] ?? '') !== ''));
  const cells = all.map(row => row.filter((_, column) => used[column]));
  const { widths, fits } = fittedWidths(cells, limit);
  if (fits) return linesOf(cells, widths);
  const [names, ...blocks] = cells;
  return blocks.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...tableLines(
      row.map((cell, column) => [names[column], cell]).filter(([, cell]) => cell !== ''),
      columns,
    ),
  ]);
}

function naturalWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return widths;
}

/** Takes columns from the widest columns until the table fits or no column can be narrower. */
function fittedWidths(
  rows: readonly (readonly string[])[],
  limit: number,
): { readonly widths: readonly number[]; readonly fits: boolean } {
  const widths = naturalWidths(rows);
  const least = widths.map((width, column) => {
    if (column === 0) return Math.min(width, Math.max(LONGEST_WHOLE_WORD, Math.floor(limit / 2)));
    const words = rows.flatMap(row => (row[column] ?? '').split(' '));
    return Math.min(LONGEST_WHOLE_WORD, Math.max(...words.map(word => word.length)));
  });
  for (let excess = total(widths) - limit; excess > 0; excess--) {
    let widest = -1;
    for (const [column, width] of widths.entries()) {
      if (width > least[column] && (widest < 0 || width > widths[widest])) widest = column;
    }
    if (widest < 0) return { widths, fits: false };
    widths[widest]--;
  }
  return { widths, fits: true };
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(widths.length - 1, 0);
}

function linesOf(rows: readonly (readonly string[])[], widths: readonly number[]): string[] {
  return rows.flatMap(row => {
    const cells = row.map((cell, column) => wrapped(cell, widths[column], true));
    const height = Math.max(1, ...cells.map(lines => lines.length));
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column]))
        .join(GAP)
        .trimEnd(),
    );
  });
}
