import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { asError } from '../../base/fault.ts';
import { systemCode } from '../../base/system-code.ts';

/**
 * Keeps other processes from a file: a unix socket beside it, on which the owner listens. The system lets go of it when
 * the owner ends in whatever way, and processes in other containers see it too; a file with the number of a process
 * would do neither.
 */
export class SnapshotLock {
  readonly #path: string;
  #server: Server | null = null;

  constructor(path: string) {
    this.#path = `${path}.lock`;
  }

  /**
   * Takes the lock; false when another process has it.
   * @throws Error when the socket cannot be made
   */
  async take(): Promise<boolean> {
    if (this.#server !== null) return true;
    if (await this.#listen()) return true;
    if (await this.#isOwned()) return false;
    // Its owner ended without a chance to remove it.
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
    // Workers of a cluster would share one socket, and all have the lock.
    server.listen({ path: this.#path, exclusive: true });
    try {
      await once(server, 'listening');
    } catch (failure) {
      if (systemCode(failure) === 'EADDRINUSE') return false;
      throw new Error(`the socket '${this.#path}' cannot be made: ${asError(failure).message}`, {
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
