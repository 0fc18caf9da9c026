import { parentPort } from 'node:worker_threads';
import { countedBeside } from '../../../../src/app/serving/serving-thread.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { ThreadNames } from '../../../../src/decision/statistics/thread-names.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { StatsReporter } from '../../../../src/stats/thread-stats.ts';

/** Messages to a counting thread, which counts each call before it answers. */
export type ToCountingThread =
  | { readonly kind: 'call' }
  | { readonly kind: 'report'; readonly number: number };

const port = parentPort!;
const stats = new StatsRegistry();
const names = new ThreadNames();
const reporter = new StatsReporter(
  stats,
  systemClock,
  message => port.postMessage(message),
  countedBeside(names, null),
);
port.on('message', (message: ToCountingThread) => {
  if (message.kind === 'report')
    reporter.requested(() => port.postMessage({ kind: 'answered', number: message.number }));
  else {
    stats.counter('calls').add(1);
    addTotal(names.rowFor('d.a'), RULE_STAT.totalHits, 1);
    port.postMessage('answer');
  }
});
port.postMessage('ready');
reporter.start();
