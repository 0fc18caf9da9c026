import t from 'tap';
import { SignalMesh } from '../../../../../src/tasks/model/signals.ts';
import { type LinkMessage, ThreadLinks } from '../../../../../src/tasks/rest/threads/thread-links.ts';
import type { LimitVerdict } from '../../../../../src/tasks/scheduler/attempts/start-limits.ts';
import { NO_LIMITS } from '../../../../support/tasks/no-limits.ts';

/** Links of a thread without a port for signals, because it is the only one. */
function linked(store: ConstructorParameters<typeof ThreadLinks>[0]['store'] = null) {
  const verdict = Promise.withResolvers<LimitVerdict>();
  const links = new ThreadLinks({
    signals: new SignalMesh(),
    store,
    limitAsker: { ...NO_LIMITS, ask: () => verdict.promise },
  });
  const heard: LinkMessage[] = [];
  const thread = { post: (message: LinkMessage) => void heard.push(message) };
  links.connect(thread);
  return { links, thread, heard, verdict };
}

const QUESTION = { tenant: 'acme', limit: { domain: 'd', descriptor: [{ key: 'a', value: 'x' }] }, tasks: 1 };

t.test('a thread hears the answer to what it asked', async t => {
  const { links, thread, heard, verdict } = linked();
  links.heard(thread, { kind: 'limit_asked', ask: 7, question: QUESTION });
  verdict.reject(new Error('away'));
  await new Promise(resolve => setImmediate(resolve));
  t.same(heard, [{ kind: 'limit_answered', ask: 7, answer: [null, 'away'] }]);
});

t.test('a thread that has ended gets neither an answer nor a port of the store', async t => {
  let wanted = 0;
  const store = { addClient: () => () => {}, wanted: () => wanted++ };
  const { links, thread, heard, verdict } = linked(store);
  links.heard(thread, { kind: 'store_wanted' });
  t.equal(wanted, 1);
  links.heard(thread, { kind: 'limit_asked', ask: 7, question: QUESTION });
  links.disconnect(thread);
  links.heard(thread, { kind: 'store_wanted' });
  verdict.reject(new Error('away'));
  await new Promise(resolve => setImmediate(resolve));
  t.equal(wanted, 1);
  t.same(heard, []);
});
