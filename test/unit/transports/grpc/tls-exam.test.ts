import { createServer, type Server, type Socket } from 'node:net';
import t from 'tap';
import type { ListenAddress } from '../../../../src/transports/grpc/listener.ts';
import type { GrpcServer, GrpcServerOptions } from '../../../../src/transports/grpc/server.ts';
import { TlsHandshakes } from '../../../../src/transports/grpc/tls/tls-handshakes.ts';
import { examineFailures, examineStreams, examineUnaryCalls } from '../../../exam/grpc-calls.ts';
import { examineConnections, examineStop } from '../../../exam/grpc-connections.ts';
import { Examinee, type MakeGrpcServer } from '../../../exam/grpc-examinee.ts';
import { examineHeaders, examineMessages, examineWrongMessages } from '../../../exam/grpc-messages.ts';
import { ENGINES, material, openTls, SERVER_PAIR } from './tls-setup.ts';

/**
 * A server over TLS behind a relay that takes the TLS off, so that clients without TLS can examine it. Its address is
 * that of the relay.
 */
class RelayedServer implements GrpcServer {
  readonly name = 'grpc';
  readonly #server: GrpcServer;
  readonly #sockets = new Set<Socket>();
  #relay: Server | null = null;
  #address: ListenAddress;

  constructor(makeServer: MakeGrpcServer, options: GrpcServerOptions) {
    const { logger, clock } = options;
    const tls = new TlsHandshakes({ clients: null, logger, clock });
    tls.use(material(SERVER_PAIR));
    this.#server = makeServer({ ...options, tls });
    this.#address = options.listen;
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async start(): Promise<void> {
    await this.#server.start();
    const relay = createServer({ allowHalfOpen: true }, socket => this.#join(socket));
    this.#relay = relay;
    await new Promise<void>(resolve => relay.listen(0, '127.0.0.1', resolve));
    this.#address = { host: '127.0.0.1', port: (relay.address() as { port: number }).port };
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    this.#relay?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    const far = openTls(this.#server.address);
    near.setNoDelay(true);
    near.pipe(far);
    far.pipe(near);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.end();
      });
    }
  }
}

function examineeOf(makeServer: MakeGrpcServer): Examinee {
  return new Examinee(
    options => new RelayedServer(makeServer, options),
    () => ({ host: '127.0.0.1', port: 0 }),
  );
}

t.test('the engine sluice passes the exam over TLS', async t => {
  const examinee = examineeOf(ENGINES['sluice']);
  examineUnaryCalls(t, examinee);
  examineMessages(t, examinee);
  examineWrongMessages(t, examinee);
  examineHeaders(t, examinee);
  examineStreams(t, examinee);
  examineFailures(t, examinee);
  examineConnections(t, examinee);
  examineStop(t, examinee);
});

t.test('the engine grpc-js passes over TLS what does not turn on the ways of the library', async t => {
  const examinee = examineeOf(ENGINES['grpc-js']);
  examineUnaryCalls(t, examinee);
  examineStreams(t, examinee);
  examineStop(t, examinee);
});
