import { answerBench } from '../control-channel.ts';
import type { GeneratorAnswers } from '../generator.ts';
import { type GrpcLoad, RunningGrpcLoad } from './load.ts';

/*
 * A process that puts load on a gRPC server. One thread of JavaScript does it, because it does so little for a call:
 * see RequestFrames and CallConnection.
 */

let running: RunningGrpcLoad | null = null;

function current(): RunningGrpcLoad {
  if (running === null) throw new Error('no load has been started');
  return running;
}

const answers: GeneratorAnswers<GrpcLoad> = {
  start: async load => {
    running = await RunningGrpcLoad.start(load);
  },
  mark: () => current().mark(),
  finish: () => current().finish(),
};

answerBench(null, answers);
