import { once } from 'node:events';
import t from 'tap';
import { atTurnEnd, endTurn } from '../../../src/base/event-loop.ts';

const nextTurn = () => new Promise(resolve => setImmediate(resolve));

t.test('what waits for the end of a turn runs then, in its order', async t => {
  const ran: string[] = [];
  atTurnEnd(() => ran.push('first'));
  atTurnEnd(() => ran.push('second'));
  await Promise.resolve();
  t.same(ran, []);
  await nextTurn();
  t.same(ran, ['first', 'second']);
});

t.test('code that runs between two polls of the sockets ends the turn itself', async t => {
  const ran: string[] = [];
  await nextTurn();
  atTurnEnd(() => {
    ran.push('first');
    atTurnEnd(() => ran.push('in the next turn'));
  });
  endTurn();
  await Promise.resolve();
  t.same(ran, ['first']);
  endTurn();
  await Promise.resolve();
  t.same(ran, ['first', 'in the next turn']);
  await nextTurn();
  t.equal(ran.length, 2, 'nothing runs twice');
});

t.test('one that throws does not keep the others from running', async t => {
  const ran: string[] = [];
  const thrown = once(process, 'uncaughtException');
  const listeners = process.listeners('uncaughtException').slice(0, -1);
  for (const listener of listeners) process.off('uncaughtException', listener);
  atTurnEnd(() => {
    throw new Error('first');
  });
  atTurnEnd(() => ran.push('second'));
  t.match(await thrown, [{ message: 'first' }]);
  for (const listener of listeners) process.on('uncaughtException', listener);
  await nextTurn();
  t.same(ran, ['second']);
});
