import type { Writable } from 'node:stream';
import type { LineOutput } from './line-output.ts';

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
