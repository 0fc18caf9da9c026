/**
 * Tells apart counts that have the same key one after the other. The key of a window of a second can be that of the minute
 * which begins at the same time: hits of the second count in the minute only if the rules change before it ends.
 */
export class CountLives {
  readonly #lives = new Map<string, { life: number; endS: number }>();

  /** A key for the count of a window, which is in use from now on. */
  keyOf(key: string, nowS: number, endS: number): string {
    const known = this.#lives.get(key) ?? { life: 0, endS };
    this.#lives.set(key, known);
    if (known.endS <= nowS) known.life++;
    known.endS = Math.max(known.endS, endS);
    return known.life === 0 ? key : `${key} ${known.life}`;
  }

  /** The same without using it. */
  currentKeyOf(key: string, nowS: number): string {
    const known = this.#lives.get(key);
    if (known === undefined) return key;
    const life = known.endS <= nowS ? known.life + 1 : known.life;
    return life === 0 ? key : `${key} ${life}`;
  }
}
