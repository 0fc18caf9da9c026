import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import type { ListenAddress } from '../../src/transports/grpc/listener.ts';
import { openSocket } from './grpc-client.ts';

/** Stands between a client and a server, and keeps what the client says. */
export class Recording {
  readonly address: ListenAddress;
  readonly #said: Buffer[][];

  private constructor(address: ListenAddress, said: Buffer[][]) {
    this.address = address;
    this.#said = said;
  }

  static async open(t: Test, server: ListenAddress): Promise<Recording> {
    const said: Buffer[][] = [];
    const sockets: Socket[] = [];
    const relay = createServer(client => {
      const bytes: Buffer[] = [];
      said.push(bytes);
      const upstream = openSocket(server);
      sockets.push(client, upstream);
      client.on('data', chunk => bytes.push(chunk));
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.pipe(upstream);
      upstream.pipe(client);
    });
    relay.listen(0, '127.0.0.1');
    await once(relay, 'listening');
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      relay.close();
    });
    return new Recording({ host: '127.0.0.1', port: (relay.address() as AddressInfo).port }, said);
  }

  /** What was said on each connection so far. */
  get said(): Buffer[] {
    return this.#said.map(bytes => Buffer.concat(bytes));
  }
}
