import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SeededRandom } from '../../seeded-random.ts';

/** What is pushed to, with answers at random. */
export class RandomSink {
  /** How often each task was sent. */
  readonly sent = new Map<string, number>();
  /** Tasks that were answered with success. */
  readonly done = new Set<string>();
  /** Everything succeeds. */
  isKind = false;
  readonly #random: SeededRandom;
  readonly #server: Server;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => {
        const id = String(request.headers['webhook-id']);
        this.sent.set(id, (this.sent.get(id) ?? 0) + 1);
        const status = this.#status();
        if (status === 200) this.done.add(id);
        // An answer may take a while, so that processes die meanwhile.
        setTimeout(() => {
          response.writeHead(status, status === 503 ? { 'retry-after': '1' } : {}).end();
        }, this.#random.below(40));
      });
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/tasks`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #status(): number {
    const draw = this.isKind ? 99 : this.#random.below(100);
    // 489 asks for no further attempt, 503 for a later one that counts as the same.
    if (draw < 10) return 500;
    if (draw < 12) return 489;
    return draw < 13 ? 503 : 200;
  }
}
