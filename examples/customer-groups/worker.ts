import { setTimeout as sleep } from 'node:timers/promises';
import { runPullWorker, SluiceClient, type TaskHandler } from '../../clients/typescript/src/index.ts';

const WORK_MS = 50;

const processInvoice = (async task => {
  const { customer, invoice } = task.payload as { customer: string; invoice: number };
  console.log(`begin ${customer} ${invoice}`);
  await sleep(WORK_MS);
  console.log(`end ${customer} ${invoice}`);
}) satisfies TaskHandler;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const client = SluiceClient.fromEnvironment();
await runPullWorker({ client, worker: 'invoices', handle: processInvoice, concurrency: 8 }, stop.signal);
