import { parentPort, threadId } from 'node:worker_threads';
import { ThreadReporter } from '../../../../src/app/statistics/thread-reporter.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { ThreadNames } from '../../../../src/decision/statistics/thread-names.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';

/** Messages to a counting thread, which counts each call before it answers. */
export type ToCountingThread =
  | { readonly kind: 'call' }
  | { readonly kind: 'report'; readonly request: number };

const port = parentPort!;
const stats = new StatsRegistry();
const names = new ThreadNames();
const reporter = new ThreadReporter({
  stats,
  names,
  overLimit: null,
  threadId,
  tell: report => port.postMessage(report),
  clock: systemClock,
});
port.on('message', (message: ToCountingThread) => {
  if (message.kind === 'report') reporter.requested(message.request);
  else {
    stats.counter('calls').add(1);
    addTotal(names.rowFor('d.a'), RULE_STAT.totalHits, 1);
    port.postMessage('answer');
  }
});
port.postMessage('ready');
reporter.start();
