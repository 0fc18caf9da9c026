import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { inNextPoll } from '../../../../../src/transports/grpc/tls/handshake-queue.ts';
import { SERVER_CA, startTlsServer } from '../tls-setup.ts';
import type { RefusedClientJob } from './refused-client-thread.ts';

const CLIENT = new URL('./refused-client-thread.js', import.meta.url);

/** Limit for a client that never answers, so that the test fails instead of hanging. */
const ANSWER_MS = 20_000;

/**
 * Starts a server that requires client certificates. After it has sent its part of a handshake, its thread is stopped
 * until the answer of the client has arrived.
 */
async function startInterrupted(t: Test, answered: Int32Array) {
  const awaitAnswer = (): void => {
    Atomics.wait(answered, 0, 0, ANSWER_MS);
  };
  const { server } = await startTlsServer(t, {
    clientName: '',
    nextTurn: run =>
      inNextPoll(() => {
        run();
        // Node.js reads the ClientHello and answers it in a tick that `run` has queued.
        process.nextTick(awaitAnswer);
      }),
  });
  return server.address as { readonly port: number };
}

t.test('the alert is sent even if the client answers before the server looks again', async t => {
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const { port } = await startInterrupted(t, answered);
  const workerData: RefusedClientJob = { port, ca: SERVER_CA.certificate, answered };
  const client = new Worker(CLIENT, { workerData });
  const [error] = await once(client, 'message');
  t.equal(Atomics.load(answered, 0), 1, 'the client has answered while the server was stopped');
  t.match(error, /alert certificate required/);
});
