import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Connection } from './primary-pool.ts';

/** Codes of messages that a connection can begin with, in place of a version of the protocol. */
const CANCEL = 80_877_102;
const ASK_FOR_TLS = 80_877_103;

/** The server agrees to TLS. */
const AGREES = 'S'.charCodeAt(0);

const PATIENCE_MS = 2_000;

/** What the types of the library leave out. */
interface Session {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/**
 * Asks the server to cancel the statement of a connection, over another connection, which the server closes without an answer.
 * It is not known whether it helps: the statement may be over, or the server unreachable. A pooler passes the request on, so
 * this side does not close first.
 */
export function cancelStatement(connection: Connection, tls: ConnectionOptions | null): void {
  const { host, port, processID, secretKey } = connection as unknown as Session;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  bounded(socket);
  const ask = numbers(CANCEL, processID, secretKey);
  if (tls === null || host.startsWith('/')) {
    socket.write(ask);
    return;
  }
  socket.write(numbers(ASK_FOR_TLS));
  socket.once('data', ([reply]) => {
    if (reply !== AGREES) return void socket.destroy();
    const sealed = connectTls({ ...tls, socket, ...(isIP(host) === 0 && { servername: host }) });
    bounded(sealed);
    sealed.once('secureConnect', () => sealed.write(ask));
  });
}

function bounded(socket: Socket): void {
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  socket.unref();
}

/** A message of whole numbers, after its length. */
function numbers(...values: readonly number[]): Buffer {
  const message = Buffer.alloc(4 * (values.length + 1));
  message.writeInt32BE(message.length, 0);
  for (const [at, value] of values.entries()) message.writeInt32BE(value, 4 * (at + 1));
  return message;
}
