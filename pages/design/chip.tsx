import type { ComponentChildren } from 'preact';

/** What the color of a chip means. The text says the same, because nothing depends on color alone. */
export type ChipKind = 'allowed' | 'near' | 'rejected' | 'shadow' | 'active' | 'neutral' | 'error';

/** A short status, such as `shadow`. */
export function Chip({ kind, children }: { readonly kind: ChipKind; readonly children: ComponentChildren }) {
  return <span class={`chip chip-${kind}`}>{children}</span>;
}
