/**
 * Leaves out what is not needed for a sequence to keep failing: halves first, then ever smaller parts.
 *
 * @param fails must be true of `all`, and depend on nothing but the sequence
 * @param maxTries how often `fails` may be asked
 */
export async function shortest<T>(
  all: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  maxTries: number,
): Promise<readonly T[]> {
  let found = all;
  let tries = 0;
  for (let size = Math.ceil(all.length / 2); size >= 1; ) {
    let shortened = false;
    for (let start = Math.max(0, found.length - size); start >= 0 && tries < maxTries; start -= size) {
      const part = [...found.slice(0, start), ...found.slice(start + size)];
      tries++;
      if (!(await fails(part))) continue;
      found = part;
      shortened = true;
    }
    if (tries >= maxTries) break;
    if (size === 1 && !shortened) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return found;
}
