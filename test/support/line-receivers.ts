import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The one method needed of a tap test. */
interface Teardown {
  teardown(run: () => unknown): void;
}

/** Longest wait for lines. */
const PATIENCE_MS = 60_000;

/** The lines that a receiver of statistics has got. */
export class ReceivedLines {
  /** All that came so far. */
  text = '';
  readonly #waiting = new Set<() => void>();

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }

  /** The sum of the values of the counter lines of this name: `name:5|c`. */
  counted(name: string): number {
    return this.lines
      .filter(line => line.startsWith(`${name}:`) && line.includes('|c'))
      .reduce((sum, line) => sum + Number.parseInt(line.slice(name.length + 1), 10), 0);
  }

  take(text: string): void {
    this.text += text;
    for (const look of this.#waiting) look();
  }

  /** Resolves once `isThere` holds for what came. */
  async until(isThere: (received: ReceivedLines) => boolean): Promise<void> {
    if (isThere(this)) return;
    const found = Promise.withResolvers<void>();
    const look = (): void => {
      if (isThere(this)) found.resolve();
    };
    const timer = setTimeout(
      () =>
        found.reject(new Error(`not received within ${PATIENCE_MS} ms, only:\n${this.text.slice(-4096)}`)),
      PATIENCE_MS,
    );
    this.#waiting.add(look);
    try {
      await found.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(look);
    }
  }
}

/** A TCP server that keeps what it is sent. */
export interface TcpReceiver {
  readonly port: number;
  readonly received: ReceivedLines;
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** Opens one on `port`, or on any free one; it ends with the test. A silent one never reads. */
export async function tcpReceiver(
  t: Teardown,
  { port = 0, reads = true }: { readonly port?: number; readonly reads?: boolean } = {},
): Promise<TcpReceiver> {
  const received = new ReceivedLines();
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: !reads }, socket => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    if (reads) socket.setEncoding('utf8').on('data', (text: string) => received.take(text));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise(closed => server.close(closed));
  };
  t.teardown(close);
  return {
    port: (server.address() as AddressInfo).port,
    received,
    sockets,
    close,
  };
}

/** A UDP socket that keeps what it is sent. */
export interface UdpReceiver {
  readonly port: number;
  readonly received: ReceivedLines;
  /** The size of each packet. */
  readonly packets: readonly number[];
}

/** Opens one on any free port; it ends with the test. */
export async function udpReceiver(t: Teardown): Promise<UdpReceiver> {
  const received = new ReceivedLines();
  const packets: number[] = [];
  const socket = createSocket('udp4');
  socket.on('message', packet => {
    packets.push(packet.length);
    received.take(packet.toString());
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => new Promise<void>(closed => socket.close(closed)));
  return { port: socket.address().port, received, packets };
}
