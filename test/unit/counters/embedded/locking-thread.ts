import { parentPort, workerData } from 'node:worker_threads';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';

/** Takes every lock of the table and keeps it. */
const table = CounterTable.attach(workerData as SharedArrayBuffer);
for (let region = 0; region < table.regionCount; region++) table.lock(region);
parentPort!.postMessage('locked');
// The thread lives on, so that only its end lets go.
parentPort!.on('message', () => {});
