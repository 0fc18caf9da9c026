import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { asError, systemCode } from '../fault.ts';

/**
 * Locks a file against other processes with a unix socket beside it, on which the owner listens. Unlike a PID file, the
 * operating system releases the lock however the owner ends, and the lock works across containers.
 */
export class FileLock {
  readonly #path: string;
  #server: Server | null = null;
  /** The attempt in progress: a second one in this process would find the socket of the first one. */
  #taking: Promise<boolean> | null = null;

  constructor(path: string) {
    this.#path = `${path}.lock`;
  }

  /**
   * Takes the lock; false if another process has it. Parts of this process share the lock.
   * @throws Error if the socket cannot be created
   */
  take(): Promise<boolean> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  async #take(): Promise<boolean> {
    if (this.#server !== null) return true;
    if (await this.#listen()) return true;
    if (await this.#isOwned()) return false;
    // The owner was killed and did not remove the socket.
    rmSync(this.#path, { force: true });
    return await this.#listen();
  }

  async release(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    await once(server, 'close');
  }

  async #listen(): Promise<boolean> {
    const server = createServer(socket => socket.destroy());
    // Without `exclusive`, workers of a Node.js cluster would share one socket, and all would have the lock.
    server.listen({ path: this.#path, exclusive: true });
    try {
      await once(server, 'listening');
    } catch (failure) {
      if (systemCode(failure) === 'EADDRINUSE') return false;
      throw new Error(`the socket '${this.#path}' cannot be created: ${asError(failure).message}`, {
        cause: failure,
      });
    }
    server.unref();
    this.#server = server;
    return true;
  }

  async #isOwned(): Promise<boolean> {
    const socket = connect(this.#path);
    try {
      await once(socket, 'connect');
      return true;
    } catch (failure) {
      const code = systemCode(failure);
      return code !== 'ECONNREFUSED' && code !== 'ENOENT';
    } finally {
      socket.destroy();
    }
  }
}
