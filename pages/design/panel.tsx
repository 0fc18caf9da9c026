import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  /** Beside the title, in a few words: a number, a time. */
  readonly note?: ComponentChildren;
  /** Buttons and choices at the end of the title line. */
  readonly actions?: ComponentChildren;
  /** Whether the content reaches to the edges: for tables and lists. */
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

/** A framed part of a view, with its title. */
export function Panel({ title, note, actions, flush = false, children }: PanelProps) {
  const heading = useId();
  return (
    <section class="panel" aria-labelledby={heading}>
      <header class="panel-head">
        <h2 id={heading}>
          {title}
          {note !== undefined && <span class="panel-note">{note}</span>}
        </h2>
        {actions}
      </header>
      <div class={flush ? 'panel-flush' : 'panel-body'}>{children}</div>
    </section>
  );
}

/** A list of names and their values. */
export function Facts({ items }: { readonly items: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
