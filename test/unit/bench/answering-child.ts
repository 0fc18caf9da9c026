import { answerBench } from '../../../bench/support/control-channel.ts';

/** What the child of the tests can be asked. */
export type TestAnswers = {
  readonly double: (value: number) => Promise<number>;
  readonly fail: () => never;
  readonly end: () => void;
};

const answers: TestAnswers = {
  double: async value => value * 2,
  fail: () => {
    throw new Error('there is no answer to that');
  },
  end: () => {
    process.stderr.write('last words');
    process.exit(3);
  },
};

answerBench({ args: process.argv.slice(2) }, answers);
