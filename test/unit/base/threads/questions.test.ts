import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import { askAll, Questions, threadAnswer } from '../../../../src/base/threads/questions.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('questions get the answers with their numbers, in any order', async t => {
  const questions = new Questions<string>();
  const sent: number[] = [];
  const asked = [0, 1].map(() => questions.ask(number => sent.push(number)));
  questions.answered(sent[1], ['second', '']);
  questions.answered(sent[0], ['first', '']);
  t.same(await Promise.all(asked), ['first', 'second']);
});

t.test('a question without an answer is rejected with the reason', async t => {
  const questions = new Questions<string>();
  const asked = questions.ask(number =>
    queueMicrotask(() => questions.answered(number, [null, 'disk full'])),
  );
  await t.rejects(asked, new Fault('store_failed', 'disk full'));
});

t.test('an answer may arrive before the question is sent completely', async t => {
  const questions = new Questions<string>();
  t.equal(await questions.ask(number => questions.answered(number, ['at once', ''])), 'at once');
});

t.test(
  'the end of the other thread rejects all waiting questions, and later answers are ignored',
  async t => {
    const questions = new Questions<string>();
    const sent: number[] = [];
    const asked = [0, 1].map(() => questions.ask(number => sent.push(number)));
    questions.lost('the thread has ended');
    for (const each of asked) await t.rejects(each, new Fault('store_failed', 'the thread has ended'));
    questions.answered(sent[0], ['late', '']);
    const next = questions.ask(number => sent.push(number));
    questions.answered(sent[2], ['next', '']);
    t.equal(await next, 'next');
  },
);

t.test('the thread that answers sends the answer, or the reason of a failure', async t => {
  t.same(await threadAnswer(async () => 7), [7, '']);
  t.same(await threadAnswer(() => Promise.reject(new Error('disk full'))), [null, 'disk full']);
  const throws = () => {
    throw new Error('stopped');
  };
  t.same(await threadAnswer(throws), [null, 'stopped']);
});

/** Threads that are asked, with what each has not answered. */
function severalThreads() {
  const clock = new ManualClock(0);
  const threads = new Map(['a', 'b'].map(name => [name, new Questions<true>()]));
  const asked: [string, number][] = [];
  const ask = (names: readonly string[]) =>
    askAll(names, name => threads.get(name)!.ask(number => asked.push([name, number])), clock, 100);
  const answers = (name: string, number = 1): void => threads.get(name)?.answered(number, [true, '']);
  const ends = (name: string): void => threads.get(name)?.lost('it has ended');
  return { clock, asked, ask, answers, ends };
}

t.test('a question to several threads is over when every thread has answered it', async t => {
  const { clock, asked, ask, answers } = severalThreads();
  const late = ask(['a', 'b']);
  t.same(asked, [
    ['a', 1],
    ['b', 1],
  ]);
  answers('a');
  answers('b');
  t.equal((await late).size, 0);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('a thread that ends is not waited for', async t => {
  const { ask, answers, ends } = severalThreads();
  const late = ask(['a', 'b']);
  answers('a');
  ends('b');
  t.equal((await late).size, 0);
});

t.test('after the bound, the threads without an answer are named', async t => {
  const { clock, ask, answers } = severalThreads();
  const late = ask(['a', 'b']);
  answers('b');
  await nextTurn();
  clock.advance(100);
  t.same([...(await late)], ['a']);
});

t.test('questions to the same threads do not take the answers of each other', async t => {
  const { clock, ask, answers } = severalThreads();
  const [first, second] = [ask(['a']), ask(['a'])];
  answers('a', 2);
  t.equal((await second).size, 0);
  clock.advance(100);
  t.equal((await first).size, 1);
});

t.test('a question to nobody is over at once', async t => {
  t.equal((await severalThreads().ask([])).size, 0);
});
