import { extname } from 'node:path';
import t, { type Test } from 'tap';
import { ForkedChild } from '../../../bench/support/forked-child.ts';
import type { TestAnswers } from './answering-child.ts';

function start(t: Test): ForkedChild<TestAnswers> {
  const entry = new URL(`./answering-child${extname(import.meta.url)}`, import.meta.url);
  const child = new ForkedChild<TestAnswers>({ entry, args: ['one', 'two'] });
  t.teardown(() => child.stop());
  return child;
}

t.test('a child is ready with its value and answers questions, several at a time', async t => {
  const child = start(t);
  t.same(await child.ready(), { args: ['one', 'two'] });
  t.same(await Promise.all([1, 2, 3].map(value => child.ask('double', value))), [2, 4, 6]);
});

t.test('a question that the child cannot answer fails with its reason, and the next is answered', async t => {
  const child = start(t);
  await child.ready();
  await t.rejects(child.ask('fail'), { message: /could not answer: there is no answer to that/ });
  t.equal(await child.ask('double', 21), 42);
});

t.test('when the child ends, open questions and later ones fail', async t => {
  const child = start(t);
  await child.ready();
  await t.rejects(child.ask('end'), { message: /answering-child\.[jt]s ended with status 3/ });
  await t.rejects(child.ask('double', 1), { message: /is gone.*last words/s });
});

t.test('stopping twice is harmless', async t => {
  const child = start(t);
  await child.ready();
  await child.stop();
  await child.stop();
});
