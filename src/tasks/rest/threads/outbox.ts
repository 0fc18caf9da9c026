/** A message that is being put together. */
export type Filling<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K];
};

/** Collects everything for another thread, so that one turn of the event loop sends one message. */
export class Outbox<Turn> {
  readonly #empty: () => Turn;
  readonly #send: (turn: Turn) => void;
  #turn: Turn | null = null;

  constructor(empty: () => Turn, send: (turn: Turn) => void) {
    this.#empty = empty;
    this.#send = send;
  }

  /** The message that is sent at the end of this turn. */
  get turn(): Turn {
    if (this.#turn === null) {
      this.#turn = this.#empty();
      setImmediate(() => this.flush());
    }
    return this.#turn;
  }

  flush(): void {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    this.#send(turn);
  }
}
