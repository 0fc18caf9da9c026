/** Shows on standard error how far a run is, on one line where that is a terminal; tables go to standard output. */
export class Progress {
  readonly #steps: number;
  readonly #startedMs = performance.now();
  #done = 0;

  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Says what is done next. To be called once before each step. */
  step(what: string): void {
    const text = `[${this.#done + 1}/${this.#steps}] ${what}${this.#left()}`;
    this.#done++;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
    // A file would fill with lines that say little: every tenth step is enough there.
    else if (this.#done % 10 === 1) process.stderr.write(`${text}\n`);
  }

  /** Takes the line away. */
  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  /** The time left if the other steps take as long as those that are done. */
  #left(): string {
    if (this.#done === 0) return '';
    const perStepMs = (performance.now() - this.#startedMs) / this.#done;
    return `, ${Math.ceil((perStepMs * (this.#steps - this.#done)) / 1_000)} s left`;
  }
}
