import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below the visible ones that are rendered as well, so that slow scrolling shows no gaps. */
const MARGIN_ROWS = 8;

interface VirtualListProps {
  readonly label: string;
  /** Number of rows of the whole list. */
  readonly count: number;
  /** Height of a row in pixels; every row has the same. */
  readonly rowHeight: number;
  /** Called for each row that is rendered. */
  readonly row: (index: number) => ComponentChildren;
  /** Called with the rendered range, `end` exclusive, so that the caller can load it. */
  readonly onRange?: (start: number, end: number) => void;
}

/** A list that scrolls by itself and renders only the rows in view. */
export function VirtualList({ label, count, rowHeight, row, onRange }: VirtualListProps) {
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 0 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  const start = Math.max(0, Math.floor(view.top / rowHeight) - MARGIN_ROWS);
  const end = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + MARGIN_ROWS);
  useEffect(() => onRange?.(start, end), [start, end, onRange]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolls by keyboard
    <section ref={box} class="virtual-list" aria-label={label} tabIndex={0}>
      <ul class="virtual-list-space" style={{ height: `${count * rowHeight}px` }}>
        {Array.from({ length: Math.max(0, end - start) }, (_, i) => (
          <li
            key={start + i}
            class="virtual-list-row"
            aria-posinset={start + i + 1}
            aria-setsize={count}
            style={{ height: `${rowHeight}px`, transform: `translateY(${(start + i) * rowHeight}px)` }}
          >
            {row(start + i)}
          </li>
        ))}
      </ul>
    </section>
  );
}
