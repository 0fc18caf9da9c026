import t from 'tap';
import type { TimedCall } from '../../../src/counters/timed-call.ts';
import type { DecisionReply } from '../../../src/decision/decider.ts';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { StoreCallSpans } from '../../../src/transports/store-call-spans.ts';
import { tracedDecider } from '../../../src/transports/tracing.ts';
import { request } from '../../support/decisions.ts';
import { type KeptSpan, KeptSpans } from '../../support/kept-spans.ts';

const CALL: TimedCall = { beganMs: 1_000, durationMs: 1.5, keys: 3, keysPerSecond: 1, failure: null };

const spans = new StoreCallSpans({
  name: 'store',
  kind: 'client',
  attributes: { 'db.system.name': 'test' },
  ofKeys: ({ keys, keysPerSecond }) => ({ lengths: `${keys} ${keysPerSecond}` }),
});

/** The replies of a batch with these calls; null for one that is not traced. The spans of the others are decisions. */
function batchOf(calls: readonly (string | null)[]): { replies: DecisionReply[]; decisions: KeptSpan[] } {
  const tracing = new KeptSpans();
  const replies: DecisionReply[] = [];
  const decider = tracedDecider({ decide: (_request, _format, reply) => replies.push(reply) }, tracing);
  const answered: DecisionReply = { gone: false, answered: () => {}, refused: () => {} };
  const decide = () => decider.decide(encodeRateLimitRequest(request('d', 'a=x')), 'protobuf', answered);
  for (const call of calls) {
    if (call === null) decide();
    else
      tracing.current.during(
        tracing.begin(call, {}, () => ''),
        decide,
      );
  }
  return { replies, decisions: tracing.begun.map(({ children }) => children[0]) };
}

t.test('the call is a child of the first traced decision, and linked with the others', async t => {
  const { replies, decisions } = batchOf([null, 'a', 'b', null, 'c']);
  spans.called(replies, CALL);
  const [first, ...others] = decisions;
  t.match(first.children, [
    {
      name: 'store',
      kind: 'client',
      beganMs: 1_000,
      endMs: 1_001.5,
      failure: '',
      attributes: {
        'db.system.name': 'test',
        'db.operation.batch.size': 3,
        'sluice.batch.requests': 5,
        lengths: '3 1',
      },
    },
  ]);
  const [call] = first.children;
  t.same(call.links, others);
  for (const other of others) t.same([other.links, other.children], [[call], []]);
  t.same(first.links, []);
});

t.test('a failed call is an error, also if some keys were counted', async t => {
  for (const type of ['timeout', 'partial']) {
    const { replies, decisions } = batchOf(['a']);
    spans.called(replies, { ...CALL, failure: { type, message: 'what happened' } });
    t.match(decisions[0].children, [{ failure: 'what happened', attributes: { 'error.type': type } }]);
  }
});

t.test('a single key is no batch operation', async t => {
  const { replies, decisions } = batchOf(['a']);
  spans.called(replies, { ...CALL, keys: 1 });
  t.notOk('db.operation.batch.size' in decisions[0].children[0].attributes);
});

t.test('a batch without a traced call has no span, and the number of links is limited', async t => {
  const none = batchOf([null, null]);
  spans.called(none.replies, CALL);
  const many = batchOf(Array.from({ length: 400 }, (_, i) => String(i)));
  spans.called(many.replies, CALL);
  t.equal(many.decisions[0].children[0].links.length, 128);
  t.equal(many.decisions.filter(({ links }) => links.length > 0).length, 128);
});
