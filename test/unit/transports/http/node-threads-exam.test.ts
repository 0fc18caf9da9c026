import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { SharedBound } from '../../../../src/base/threads/shared-bound.ts';
import { sharedHttpPortExam } from '../../../exam/http-server/exam.ts';
import type { ServeExam } from '../../../exam/http-server/examinee.ts';
import { NODE_DEPARTURES } from '../../../exam/http-server/node-departures.ts';
import { BlockingPort, blockingEnds } from '../../../support/threads/blocking-port.ts';
import type { FromHttpExamThread, HttpExamSetup } from '../../../support/threads/http-exam-thread.ts';

const THREADS = 2;
const MAX_HEADER_BYTES = 16_384;
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const MODULE = new URL(`../../../support/threads/http-exam-thread.${extension}`, import.meta.url);

/** How many decisions each thread was asked for, in all parts of the exam. */
const asked = Array.from({ length: THREADS }, () => 0);

/** Opens the port in all threads: which thread has a connection is up to the system. */
const serveInThreads: ServeExam = async (t, count) => {
  const connections = new SharedBound(1_000, THREADS);
  let port = 0;
  for (let thread = 0; thread < THREADS; thread++) {
    const [here, end] = blockingEnds();
    const listening = Promise.withResolvers<number>();
    const called = new BlockingPort<never, FromHttpExamThread>(here, message => {
      if (message.kind === 'listening') return listening.resolve(message.port);
      asked[thread]++;
      return count(message.key);
    });
    const seat = connections.join();
    const setup: HttpExamSetup = { end, port, maxHeaderBytes: MAX_HEADER_BYTES, connections: seat };
    const worker = new Worker(MODULE, { workerData: setup, transferList: [end.port] });
    t.teardown(async () => {
      await worker.terminate();
      called.close();
    });
    const failed = once(worker, 'exit').then(() => Promise.reject(new Error('the thread has ended')));
    port = await Promise.race([listening.promise, failed]);
    failed.catch(() => {});
  }
  return port;
};

sharedHttpPortExam(t, serveInThreads, NODE_DEPARTURES);

t.test('both threads had requests', async t => {
  t.ok(
    asked.every(count => count > 0),
    asked.join(' and '),
  );
});
