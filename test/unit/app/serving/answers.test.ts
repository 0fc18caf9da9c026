import t from 'tap';
import { Answers } from '../../../../src/app/serving/answers.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

function fresh() {
  const clock = new ManualClock(0);
  const answers = new Answers<string>(clock);
  const asked: [string, number][] = [];
  const ask = (threads: string[]) =>
    answers.ask(threads, (thread, number) => asked.push([thread, number]), 100);
  return { clock, answers, asked, ask };
}

t.test('a question is over when every thread has answered it', async t => {
  const { answers, asked, ask } = fresh();
  const late = ask(['a', 'b']);
  t.same(asked, [
    ['a', 1],
    ['b', 1],
  ]);
  answers.answered('a', 1);
  answers.answered('b', 1);
  t.equal((await late).size, 0);
});

t.test('a thread that ends is not waited for', async t => {
  const { answers, ask } = fresh();
  const late = ask(['a', 'b']);
  answers.answered('a', 1);
  answers.ended('b');
  t.equal((await late).size, 0);
});

t.test('after the bound, the threads without an answer are named', async t => {
  const { clock, answers, ask } = fresh();
  const late = ask(['a', 'b']);
  answers.answered('b', 1);
  clock.advance(100);
  t.same([...(await late)], ['a']);
  answers.answered('a', 1);
});

t.test('questions do not take the answers of each other', async t => {
  const { clock, answers, ask } = fresh();
  const [first, second] = [ask(['a']), ask(['a'])];
  answers.answered('a', 2);
  t.equal((await second).size, 0);
  clock.advance(100);
  t.equal((await first).size, 1);
});

t.test('a question to nobody is over at once', async t => {
  t.equal((await fresh().ask([])).size, 0);
});
