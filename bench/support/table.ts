/** Lines of a table in plain text: the first column to the left, the others to the right. A row may be shorter. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map(row => (row[column] ?? '').length)),
  );
  return [head, ...rows].map(row => formatRow(row, widths));
}

/** One line of a table whose columns have these widths. */
export function formatRow(row: readonly string[], widths: readonly number[]): string {
  return widths
    .map((width, column) => {
      const cell = row[column] ?? '';
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    })
    .join('  ')
    .trimEnd();
}

/** A number with so many decimals and a space between thousands; a dash for what is none. */
export function formatNumber(value: number, decimals = 0): string {
  if (!Number.isFinite(value)) return '-';
  const [whole, fraction] = value.toFixed(decimals).split('.');
  const spaced = whole.replace(/\B(?=(?:\d{3})+$)/g, ' ');
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

/** Bytes in units of 10^6. */
export function formatMegabytes(bytes: number, decimals = 1): string {
  return formatNumber(bytes / 1e6, decimals);
}
