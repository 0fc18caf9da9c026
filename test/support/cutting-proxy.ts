import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The part of a tap test that is needed. */
interface Teardown {
  teardown(run: () => unknown): void;
}

/** A proxy in front of a server on loopback that closes connections. */
export class CuttingProxy {
  /** Number of replies that are still to be lost: the request arrives, and the connection ends before its reply. */
  toCut = 0;
  /** Number of replies that were lost. */
  cut = 0;
  /** Whether every connection is closed at once. */
  isClosed = false;
  readonly #server = createServer(caller => this.#accept(caller));
  readonly #sockets = new Set<Socket>();
  readonly #port: number;

  /** @param port of the server */
  constructor(port: number) {
    this.#port = port;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Closes all connections, and those to come. */
  close(): void {
    this.isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.close();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(caller: Socket): void {
    if (this.isClosed) {
      caller.destroy();
      return;
    }
    const inner = connect(this.#port, '127.0.0.1');
    const pair = [caller, inner] as const;
    const end = (): void => {
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    caller.pipe(inner);
    inner.on('data', reply => {
      if (this.toCut === 0) caller.write(reply);
      else {
        this.toCut--;
        this.cut++;
        end();
      }
    });
  }
}

/** Starts a proxy in front of the server at `host:port`. It ends with the test. */
export async function cuttingProxy(t: Teardown, address: string): Promise<CuttingProxy> {
  const proxy = new CuttingProxy(Number(address.split(':')[1]));
  await proxy.start();
  t.teardown(() => proxy.stop());
  return proxy;
}
