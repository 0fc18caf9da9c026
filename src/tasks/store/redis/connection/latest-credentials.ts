import { Cluster, type Redis } from 'ioredis';
import type { Credentials } from '../../../../base/credentials.ts';
import type { AuthFile } from '../../../../base/files/auth-file.ts';

/**
 * Credentials that the client library takes from a file. The library reads its options, without waiting, whenever it
 * connects; so the file is read ahead: before the first connection, and whenever one is lost or refused.
 */
export class LatestCredentials {
  readonly #file: AuthFile;
  readonly #failed: (failure: unknown) => void;
  #latest: Credentials = { username: '', password: '' };
  #reading: Promise<void> | null = null;

  /** @param failed told why the file cannot be read; what was read last stays in use */
  constructor(file: AuthFile, failed: (failure: unknown) => void) {
    this.#file = file;
    this.#failed = failed;
  }

  /** Reads the file; it is read once however often this is called meanwhile. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Makes every connection of the client use what was read last. */
  useIn(client: Redis | Cluster): void {
    const refresh = () => void this.refresh();
    if (client instanceof Cluster) {
      // Each node has options of its own, and has not connected yet when it is told.
      client.on('+node', (node: Redis) => {
        this.#replaceIn(node);
        node.on('close', refresh);
      });
      client.on('node error', refresh);
    } else this.#replaceIn(client);
    client.on('error', refresh);
    client.on('close', refresh);
  }

  #replaceIn({ options }: Redis): void {
    Object.defineProperties(options, {
      username: { get: () => this.#latest.username || undefined, enumerable: true, configurable: true },
      password: { get: () => this.#latest.password || undefined, enumerable: true, configurable: true },
    });
  }

  async #read(): Promise<void> {
    try {
      this.#latest = await this.#file.read();
    } catch (failure) {
      this.#failed(failure);
    }
  }
}
