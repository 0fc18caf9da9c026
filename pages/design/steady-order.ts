import { useRef } from 'preact/hooks';

interface Hold {
  /** Whether somebody looks at the rows so closely that they must not move. */
  readonly held: boolean;
  /** What the rows answer. When it changes, the new rows are shown at once. */
  readonly of: string;
}

/** Returns the rows with their latest values, in the order of {@link steadyOrder}. */
export function useSteadyOrder<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  { held, of }: Hold,
): readonly Row[] {
  const shown = useRef<{ readonly of: string; readonly rows: readonly Row[] }>({ of, rows });
  const isNew = !held || shown.current.of !== of || shown.current.rows.length === 0;
  const next = isNew ? rows : steadyOrder(shown.current.rows, rows, keyOf);
  shown.current = { of, rows: next };
  return next;
}

/** The rows that are shown already stay where they are, with their old values if they have left. Others follow. */
export function steadyOrder<Row>(
  shown: readonly Row[],
  latest: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const byKey = new Map(latest.map(row => [keyOf(row), row]));
  const kept = shown.map(row => {
    const key = keyOf(row);
    const present = byKey.get(key) ?? row;
    byKey.delete(key);
    return present;
  });
  return [...kept, ...byKey.values()];
}
