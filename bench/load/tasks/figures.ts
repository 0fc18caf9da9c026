import { formatNumber, formatTable } from '../../support/table.ts';
import type { Store } from './task-service.ts';

/** One measured value beside what was aimed at. */
export interface Figure {
  readonly part: string;
  readonly what: string;
  readonly store: Store;
  readonly value: number;
  readonly unit: string;
  /** At least, or at most, so much; null for a value that has no aim. */
  readonly aim: { readonly atLeast: number } | { readonly atMost: number } | null;
}

export function isMet({ aim, value }: Figure): boolean | null {
  if (aim === null) return null;
  return 'atLeast' in aim ? value >= aim.atLeast : value <= aim.atMost;
}

/** The figures of all stores, one a line. */
export function figureTable(figures: readonly Figure[]): string[] {
  const rows = figures.map(figure => [
    `${figure.part}: ${figure.what}`,
    figure.store,
    formatNumber(figure.value, decimalsOf(figure.value)),
    figure.unit,
    aimText(figure),
    { true: 'met', false: 'MISSED', null: '' }[String(isMet(figure)) as 'true' | 'false' | 'null'],
  ]);
  return formatTable(['figure', 'store', 'value', 'unit', 'aim', ''], rows);
}

function aimText({ aim }: Figure): string {
  if (aim === null) return '';
  const [sign, bound] = 'atLeast' in aim ? ['>=', aim.atLeast] : ['<=', aim.atMost];
  return `${sign} ${formatNumber(bound, Number.isInteger(bound) ? 0 : 1)}`;
}

function decimalsOf(value: number): number {
  return value < 10 ? 2 : value < 100 ? 1 : 0;
}
