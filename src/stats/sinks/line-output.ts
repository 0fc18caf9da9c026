import type { Writable } from 'node:stream';

/** The destination of a push sink. Flushes use it one at a time. */
export interface LineOutput {
  /** Name for messages, such as `statsd at localhost:8125 (tcp)`. */
  readonly name: string;
  /** Starts to connect, if the output needs a connection. Does not wait for it. */
  open(): void;
  /**
   * Prepares for a flush.
   * @throws Error with the reason if nothing can be sent now
   */
  ready(): Promise<void>;
  /**
   * Sends whole lines. Resolves when there is room for more.
   * @throws Error with the reason if some of the lines may be lost
   */
  write(lines: string): Promise<void>;
  /** Resolves when all lines have been sent. */
  end(): Promise<void>;
  /** Closes the output immediately. A write that waits fails, and nothing can be sent afterwards. */
  close(): void;
}

/**
 * Lines into a stream of this process that stays open: standard output. A reader that has stalled holds up its flush.
 */
export class StreamOutput implements LineOutput {
  readonly name: string;
  readonly #stream: Writable;
  readonly #given: PromiseWithResolvers<never> = Promise.withResolvers();

  constructor(name: string, stream: Writable) {
    this.name = name;
    this.#stream = stream;
    // Without a handler, `close` would cause an unhandled rejection if no write is waiting.
    this.#given.promise.catch(() => {});
    // Each write gets its own failure. Without a listener, the error event would end the process as well.
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
