import { isMainThread, workerData } from 'node:worker_threads';
import { Bound, type BoundSeat } from '../../../src/base/threads/shared-bound.ts';
import { nodeEngine } from '../../../src/transports/http/node/node-server.ts';
import { examListener } from '../../exam/http-server/exam-listener.ts';
import { type BlockingEnd, BlockingPort } from './blocking-port.ts';

/** The `workerData` of a thread that listens on the port of an exam. */
export interface HttpExamSetup {
  readonly end: BlockingEnd;
  readonly port: number;
  readonly maxHeaderBytes: number;
  readonly connections: BoundSeat;
}

/** Calls from such a thread. */
export type FromHttpExamThread =
  | { readonly kind: 'listening'; readonly port: number }
  /** The decider was asked for this. Returns how often. */
  | { readonly kind: 'asked'; readonly key: string };

async function serve({ end, port, maxHeaderBytes, connections }: HttpExamSetup): Promise<void> {
  const exam = new BlockingPort<FromHttpExamThread, never>(end, () => {});
  const listener = examListener({
    engine: nodeEngine({ maxHeaderBytes }),
    count: key => Number(exam.call({ kind: 'asked', key })),
    port,
    connections: Bound.at(connections),
  });
  await listener.start();
  exam.call({ kind: 'listening', port: listener.port });
}

if (!isMainThread) await serve(workerData as HttpExamSetup);
