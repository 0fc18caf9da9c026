/** A message while it is being put together. */
export type Filling<T> = {
  -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K];
};

/** Gathers what is to be sent to another thread, so that all of one turn of the event loop leaves in one message. */
export class Outbox<Turn> {
  readonly #empty: () => Turn;
  readonly #send: (turn: Turn) => void;
  #turn: Turn | null = null;

  constructor(empty: () => Turn, send: (turn: Turn) => void) {
    this.#empty = empty;
    this.#send = send;
  }

  /** What leaves at the end of this turn. */
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
