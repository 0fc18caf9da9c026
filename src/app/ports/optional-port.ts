import type { Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Surroundings } from '../surroundings.ts';

/**
 * A port that the service works without, so a failure to open it is only logged, and retried until it succeeds. A process
 * that is being replaced, for example during a reload by PM2, has the port until it has drained.
 */
export class OptionalPort implements Service {
  readonly name: string;
  readonly #server: Pick<Service, 'start' | 'stop'>;
  readonly #retryMs: number;
  readonly #thread: Pick<Surroundings, 'clock' | 'logger'>;
  readonly #opened: (isLate: boolean) => void;
  #isOpen = false;
  #stopped = false;
  #retry: Timer | null = null;
  /** The attempt in progress, if it is not the first; it never rejects. */
  #opening: Promise<void> = Promise.resolve();

  /**
   * @param name of the port, for the log
   * @param retryMs delay between two attempts
   * @param opened called when the port is open; `isLate` if the first attempt failed
   */
  constructor(
    name: string,
    server: Pick<Service, 'start' | 'stop'>,
    retryMs: number,
    thread: Pick<Surroundings, 'clock' | 'logger'>,
    opened: (isLate: boolean) => void,
  ) {
    this.name = name;
    this.#server = server;
    this.#retryMs = retryMs;
    this.#thread = thread;
    this.#opened = opened;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async start(): Promise<void> {
    this.#stopped = false;
    await this.#open(false);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    await this.#opening;
    this.#isOpen = false;
    await this.#server.stop();
  }

  async #open(isLate: boolean): Promise<void> {
    const { clock, logger } = this.#thread;
    try {
      await this.#server.start();
      this.#isOpen = true;
      this.#opened(isLate);
    } catch (failure) {
      if (!isLate) {
        logger.error(
          `${this.name[0].toUpperCase()}${this.name.slice(1)} port could not be opened; retrying`,
          {
            error: asError(failure).message,
            retry_in: `${this.#retryMs / 1_000}s`,
          },
        );
      }
      if (this.#stopped) return;
      this.#retry = clock.after(this.#retryMs, () => {
        this.#opening = this.#open(true);
      });
    }
  }
}
