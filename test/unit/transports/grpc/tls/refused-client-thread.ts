import { parentPort, workerData } from 'node:worker_threads';
import { greetOn, openTls } from '../tls-setup.ts';

/** What the thread needs to connect, without a client certificate. */
export interface RefusedClientJob {
  readonly port: number;
  /** PEM of the CA of the server. */
  readonly ca: string;
  /** Becomes 1 when the client has sent the last message of its handshake. */
  readonly answered: Int32Array;
}

const { port, ca, answered } = workerData as RefusedClientJob;
const socket = openTls({ host: '127.0.0.1', port }, { ca });
socket.once('secureConnect', () => {
  // Node.js sends the message after this event, before the event loop goes on.
  setImmediate(() => {
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
});
const { error } = await greetOn(socket);
parentPort!.postMessage(error);
