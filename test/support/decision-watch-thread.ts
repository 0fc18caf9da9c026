import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { dialled } from './asking.ts';
import type { WatchReport } from './decision-watch.ts';
import { GrpcClient } from './grpc-client.ts';

/** What the thread of a `DecisionWatch` is given. */
export interface WatchSetup {
  /** The gRPC front, as the service logged it. */
  readonly address: string;
  /** Of the service: its first thread decides. */
  readonly pid: number;
}

export type WatchCommand = 'begin' | 'end' | 'stop';

const EVERY_MS = 5;
const REQUEST = encodeRateLimitRequest({
  domain: 'demo',
  descriptors: [{ entries: [{ key: 'plan', value: 'partner' }], limit: null, hitsAddend: null }],
  hitsAddend: 0,
});

const { address, pid } = workerData as WatchSetup;
const port = parentPort!;
const client = new GrpcClient(dialled(address));
const DECIDING = `/proc/${pid}/task/${pid}/schedstat`;
const ASKING = '/proc/thread-self/schedstat';

/** What two threads have done so far, in milliseconds. */
interface Usage {
  /** For how long the one that decides had a core. */
  readonly worked: number;
  /** For how long either of them was ready to run and had none. */
  readonly waited: number;
}

/** Null where the system does not tell (https://docs.kernel.org/scheduler/sched-stats.html). */
function usage(): Usage | null {
  try {
    const deciding = nanoseconds(DECIDING);
    const asking = nanoseconds(ASKING);
    return { worked: deciding[0] / 1e6, waited: (deciding[1] + asking[1]) / 1e6 };
  } catch {
    return null;
  }
}

function nanoseconds(file: string): number[] {
  return readFileSync(file, 'latin1').split(' ').map(Number);
}

/** See `WatchReport.longestOwn`. */
function ownPart(took: number, before: Usage | null, after: Usage | null): number {
  if (before === null || after === null) return took;
  return Math.min(took - (after.waited - before.waited), after.worked - before.worked);
}

const NOTHING: WatchReport = { asked: 0, failed: 0, longest: 0, longestOwn: 0 };
let report = NOTHING;
let open: Promise<void>[] = [];
let timer: NodeJS.Timeout | undefined;

async function ask(): Promise<void> {
  const before = usage();
  const begun = performance.now();
  const { status } = await client.unary(SHOULD_RATE_LIMIT_PATH, REQUEST);
  const took = performance.now() - begun;
  const own = ownPart(took, before, usage());
  const { asked, failed, longest, longestOwn } = report;
  report = {
    asked: asked + 1,
    failed: failed + (status === 0 ? 0 : 1),
    longest: Math.max(longest, took),
    longestOwn: Math.max(longestOwn, own),
  };
}

port.on('message', async (command: WatchCommand) => {
  if (command === 'begin') {
    report = NOTHING;
    open = [];
    timer = setInterval(() => open.push(ask()), EVERY_MS);
  } else if (command === 'end') {
    clearInterval(timer);
    await Promise.all(open);
    port.postMessage(report);
  } else {
    client.close();
    port.close();
  }
});

// The connection is there before anything is measured.
await ask();
port.postMessage('ready');
