import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import { Questions, threadAnswer } from '../../../../src/base/threads/questions.ts';

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
