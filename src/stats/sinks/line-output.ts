import type { Writable } from 'node:stream';

/** Where the lines of a push sink go. One flush at a time uses it. */
export interface LineOutput {
  /** For messages: `statsd at localhost:8125 (tcp)`. */
  readonly name: string;
  /** Begins to connect, where that is needed. Does not wait for it. */
  open(): void;
  /**
   * Gets ready for a flush.
   * @throws Error with the reason why nothing can be sent now
   */
  ready(): Promise<void>;
  /**
   * Hands over whole lines, and resolves when there is room for more.
   * @throws Error with the reason why they are lost, or some of them
   */
  write(lines: string): Promise<void>;
  /** Resolves when what was handed over has left. */
  end(): Promise<void>;
  /** Ends everything at once; a write that waits fails. Nothing can be sent after it. */
  close(): void;
}

/** Lines into a stream of this process that stays open: standard output. A reader that has stalled holds up its flush. */
export class StreamOutput implements LineOutput {
  readonly name: string;
  readonly #stream: Writable;
  readonly #given: PromiseWithResolvers<never> = Promise.withResolvers();

  constructor(name: string, stream: Writable) {
    this.name = name;
    this.#stream = stream;
    // Nobody may be waiting when it is closed.
    this.#given.promise.catch(() => {});
    // Each write is told its own failure. Without a listener it would end the process as well.
    stream.on('error', ignore);
  }

  open(): void {}

  async ready(): Promise<void> {}

  async write(lines: string): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#stream.write(lines, failure => (failure ? reject(failure) : resolve()));
    });
    await Promise.race([written, this.#given.promise]);
  }

  async end(): Promise<void> {}

  close(): void {
    this.#given.reject(new Error('closed'));
  }
}

function ignore(): void {}
