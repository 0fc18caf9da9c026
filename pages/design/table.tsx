import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useShortcuts } from './shortcuts.ts';
import { useSteadyOrder } from './steady-order.ts';

/** A column of a {@link Table}. */
export interface Column<Row> {
  readonly key: string;
  readonly title: ComponentChildren;
  /** Numbers are aligned to the right. */
  readonly kind?: 'text' | 'number';
  /** The order of the rows when sorted by this column. Absent if they cannot be. */
  readonly sorts?: 'ascending' | 'descending';
  /** Whether it takes the width that is left, and cuts off its text. At most one column does. */
  readonly grows?: boolean;
  /** When the column is left out: below 560 or 900 pixels, except while the rows are sorted by it. */
  readonly hides?: 'narrow' | 'medium';
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  /** What the rows are: `Limits`. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Key of the column that the rows are sorted by. */
  readonly sort?: string;
  readonly onSort?: (key: string) => void;
  /** Opens a row: by a click, or with Enter on the current row. A cell should have a link that does the same. */
  readonly onOpen?: (row: Row) => void;
  /** What the rows answer, such as the text of a search. Other rows of the same answer keep their order while held. */
  readonly of?: string;
}

/**
 * A table whose rows change while somebody reads it. Rows keep their order while the pointer is over the table or the
 * focus is inside. `j` and `k` move between rows that can be opened.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rowKey, sort, onSort, onOpen, of = '' } = props;
  const [held, setHeld] = useState({ pointer: false, focus: false });
  const body = useRef<HTMLTableSectionElement>(null);
  const rows = useSteadyOrder(props.rows, rowKey, {
    held: held.pointer || held.focus,
    of: `${of}\n${sort ?? ''}`,
  });
  const move = (by: number) => {
    const all = [...(body.current?.rows ?? [])];
    const present = all.findIndex(row => row.contains(document.activeElement));
    all[Math.min(Math.max(present === -1 ? 0 : present + by, 0), all.length - 1)]?.focus();
  };
  const keys = {
    j: { help: 'Next row', run: () => move(1) },
    k: { help: 'Previous row', run: () => move(-1) },
  };
  useShortcuts(onOpen === undefined ? {} : keys);
  return (
    <div class="table-frame">
      <table
        class="table"
        aria-label={label}
        onPointerEnter={() => setHeld(was => ({ ...was, pointer: true }))}
        onPointerLeave={() => setHeld(was => ({ ...was, pointer: false }))}
      >
        <thead>
          <tr>
            {columns.map(column => (
              <Heading key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody
          ref={body}
          onFocusIn={() => setHeld(was => ({ ...was, focus: true }))}
          onFocusOut={() => setHeld(was => ({ ...was, focus: false }))}
        >
          {rows.map(row => (
            <tr
              key={rowKey(row)}
              tabIndex={-1}
              class={onOpen === undefined ? undefined : 'row-opens'}
              onClick={event => {
                if (!isInteractive(event.target)) onOpen?.(row);
              }}
              onKeyDown={event => {
                if (event.key === 'Enter' && event.target === event.currentTarget) onOpen?.(row);
              }}
            >
              {columns.map(column => (
                <td key={column.key} class={cellClass(column, sort)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((key: string) => void) | undefined;
}

function Heading<Row>({ column, sort, onSort }: HeadingProps<Row>) {
  const { key, title, sorts } = column;
  const isSorted = sorts !== undefined && sort === key;
  return (
    <th scope="col" class={cellClass(column, sort)} aria-sort={isSorted ? sorts : undefined}>
      {sorts === undefined || onSort === undefined ? (
        title
      ) : (
        <button type="button" class="sort-button" onClick={() => onSort(key)}>
          {title}
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <path d={sorts === 'ascending' ? 'M1 5.5L4 2.5L7 5.5' : 'M1 2.5L4 5.5L7 2.5'} />
          </svg>
        </button>
      )}
    </th>
  );
}

function cellClass<Row>(
  { key, kind = 'text', grows = false, hides }: Column<Row>,
  sort: string | undefined,
): string {
  const isLeftOut = hides !== undefined && key !== sort;
  return `cell-${kind}${grows ? ' cell-grows' : ''}${isLeftOut ? ` hides-${hides}` : ''}`;
}

/** Whether a click does something else than opening the row; selecting text does. */
function isInteractive(target: EventTarget | null): boolean {
  if (getSelection()?.isCollapsed === false) return true;
  return target instanceof Element && target.closest('a, button, input, select, summary') !== null;
}
