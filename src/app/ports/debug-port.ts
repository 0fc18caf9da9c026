import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';

/** What is opened: the debug server. */
interface DebugListener {
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Time between two tries to open the port. */
export const RETRY_MS = 1_000;

/**
 * The debug port. The service does its work without it, so one that cannot be opened is only logged, and tried again
 * until it can: a process that replaces another (a reload by PM2) starts while that one still has the port.
 */
export class DebugPort implements Service {
  readonly name = 'debug';
  readonly #server: DebugListener;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #isOpen = false;
  #stopped = false;
  #retry: Timer | null = null;
  /** The try under way; it never rejects. */
  #opening: Promise<void> = Promise.resolve();

  constructor(server: DebugListener, parts: { readonly clock: Clock; readonly logger: Logger }) {
    this.#server = server;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Its number; null while it is closed. */
  get port(): number | null {
    return this.#isOpen ? this.#server.port : null;
  }

  async start(): Promise<void> {
    this.#stopped = false;
    const failure = await this.#open();
    if (failure === null) return;
    this.#logger.error('Debug port could not be opened; retrying', {
      error: failure.message,
      retry_in: `${RETRY_MS / 1_000}s`,
    });
    this.#tryLater();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    await this.#opening;
    this.#isOpen = false;
    await this.#server.stop();
  }

  async #open(): Promise<Error | null> {
    try {
      await this.#server.start();
      this.#isOpen = true;
      return null;
    } catch (failure) {
      return asError(failure);
    }
  }

  #tryLater(): void {
    if (this.#stopped) return;
    this.#retry = this.#clock.after(RETRY_MS, () => {
      this.#opening = this.#tryAgain();
    });
  }

  async #tryAgain(): Promise<void> {
    if ((await this.#open()) !== null) this.#tryLater();
    else this.#logger.info('Debug port is open', { port: this.#server.port });
  }
}
