/** One field of each item. */
export function each<Items extends readonly object[], Field extends keyof Items[number]>(
  items: Items,
  field: Field,
): Items[number][Field][] {
  return items.map(item => (item as Items[number])[field]);
}
