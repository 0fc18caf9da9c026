import { parentPort, workerData } from 'node:worker_threads';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { LIMIT } from '../../../src/rules/layout.ts';

/** What the thread answers about the first limit of the rules that it was started with. */
export interface Reading {
  readonly path: string;
  readonly requestsPerUnit: number;
  readonly isSameMemory: boolean;
}

// Reads the rules whenever it is asked; ends when the port is closed.
const rules = new CompiledRules(workerData);
parentPort!.on('message', () => {
  const reading: Reading = {
    path: rules.path(0),
    requestsPerUnit: rules.requestsPerUnit(0),
    isSameMemory: rules.words.buffer === workerData && rules.limit(0, LIMIT.unit) === 3,
  };
  parentPort!.postMessage(reading);
});
