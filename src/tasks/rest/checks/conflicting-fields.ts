import type { Fields } from './field-reader.ts';
import { Problem } from './problem.ts';

/**
 * Of two fields at most one may have a value.
 *
 * @param at pointer of the object that has them; empty for the whole body
 * @throws Problem `conflicting_fields`
 */
export function excludeEachOther(fields: Fields, one: string, other: string, at = ''): void {
  if (fields[one] == null || fields[other] == null) return;
  const detail = `${one} and ${other} exclude each other: give one of them`;
  throw new Problem('conflicting_fields', detail, {
    errors: [one, other].map(name => ({ pointer: `${at}/${name}`, code: 'conflicting_fields', detail })),
  });
}
