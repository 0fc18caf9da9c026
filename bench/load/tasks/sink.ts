import { App, us_socket_local_port } from 'uWebSockets.js';
import { answerBench } from '../../support/control-channel.ts';
import { LatencyHistogram, type LatencySummary } from '../../support/latency-histogram.ts';

/*
 * A process that tasks are pushed to. It answers 200 and notes how late each came: a payload may begin with
 * `{"due":<milliseconds since the epoch>`.
 */

export interface SinkTotals {
  readonly received: number;
  /** Arrival after the due time, of those that brought one. */
  readonly lag: LatencySummary;
  /** Milliseconds since the epoch; 0 before the first. */
  readonly firstAt: number;
  readonly lastAt: number;
}

const DUE = '{"due":';

const histogram = new LatencyHistogram();
let received = 0;
let firstAt = 0;
let lastAt = 0;

function note(head: string): void {
  const now = performance.timeOrigin + performance.now();
  if (received === 0) firstAt = now;
  received++;
  lastAt = now;
  if (head.startsWith(DUE)) histogram.record(Math.max(now - Number.parseInt(head.slice(DUE.length), 10), 0));
}

const app = App();
app.any('/*', response => {
  let isFirst = true;
  response.onAborted(() => {});
  response.onData((chunk, isLast) => {
    if (isFirst) note(Buffer.from(chunk, 0, Math.min(chunk.byteLength, 32)).toString('latin1'));
    isFirst = false;
    if (isLast) response.end();
  });
});

/** What a bench asks the sink. */
export type SinkAnswers = {
  readonly totals: () => SinkTotals;
  readonly reset: () => void;
};

const answers: SinkAnswers = {
  totals: () => ({ received, lag: histogram.summary(), firstAt, lastAt }),
  reset: () => {
    histogram.reset();
    received = 0;
    firstAt = 0;
    lastAt = 0;
  },
};

app.listen('127.0.0.1', 0, socket => {
  if (socket === false) throw new Error('the sink found no port');
  answerBench(us_socket_local_port(socket), answers);
});
