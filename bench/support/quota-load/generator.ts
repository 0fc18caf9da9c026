import { answerBench } from '../control-channel.ts';
import { type QuotaAnswers, RunningQuotaLoad } from './load.ts';

/*
 * A process that is many proxies with quotas. One thread of JavaScript does it, because a report is prepared beforehand
 * and an answer is only counted: see ReportFrames and ActionScanner.
 */

let running: RunningQuotaLoad | null = null;

function current(): RunningQuotaLoad {
  if (running === null) throw new Error('no stream has been opened');
  return running;
}

const answers: QuotaAnswers = {
  open: async load => {
    running = await RunningQuotaLoad.open(load);
  },
  drive: reportsPerSecond => current().drive(reportsPerSecond),
  mark: () => current().mark(),
  rest: () => current().rest(),
  close: () => current().close(),
};

answerBench(null, answers);
