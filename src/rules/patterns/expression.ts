import type { CodePoints } from './code-points.ts';

/** What a pattern says, without what makes no difference to whether a text matches: captures, names, laziness. */
export type Expression =
  /** One code point of a set. */
  | { readonly kind: 'one'; readonly of: CodePoints }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly options: readonly Expression[] }
  /** `most` may be infinite. */
  | { readonly kind: 'repeat'; readonly part: Expression; readonly least: number; readonly most: number }
  | { readonly kind: 'place'; readonly place: Place };

/**
 * What matches between two code points, by where it is: at the start of the text (`^`), at its end (`$`), where a word
 * starts or ends (`\b`), or anywhere else (`\B`).
 */
export type Place = 'start' | 'end' | 'boundary' | 'no boundary';
