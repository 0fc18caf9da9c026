/** What has happened in many histories. */
export class Coverage {
  readonly #seen = new Map<string, number>();

  add(coverage: ReadonlyMap<string, number>): void {
    for (const [what, count] of coverage) this.#seen.set(what, (this.#seen.get(what) ?? 0) + count);
  }

  /** Lines for a person: how often everything came, the rarest first. */
  lines(): string[] {
    return [this.#lineOf('answers', 'answer '), this.#lineOf('troubles', 'trouble ')];
  }

  #lineOf(name: string, prefix: string): string {
    const found = [...this.#seen].filter(([what]) => what.startsWith(prefix)).sort(([, a], [, b]) => a - b);
    const sum = found.reduce((all, [, count]) => all + count, 0);
    const each = found.map(([what, count]) => `${what.slice(prefix.length)} ${count}`);
    return `${name}: ${sum} of ${found.length} kinds: ${each.join(', ')}`;
  }
}
