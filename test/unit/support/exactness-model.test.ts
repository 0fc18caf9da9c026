import t from 'tap';
import type { Call, Counter } from '../../support/exactness/load.ts';
import { examineCalls } from '../../support/exactness/model.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const TEN: Counter = { text: 'a=x', rule: 'd.a', limit: 10 };
const HUNDRED: Counter = { text: 'b=x', rule: 'd.b', limit: 100 };

/** A call by its hits on each counter and what it was told: what remains, or null for over the limit. */
function call(caller: number, ...parts: (readonly [Counter, number, number | null])[]): Call {
  const told = parts.map(([, , remaining]) =>
    remaining === null ? { code: 'OVER_LIMIT', remaining: 0 } : { code: 'OK', remaining },
  );
  const overall = parts.some(([, , remaining]) => remaining === null) ? 'OVER_LIMIT' : 'OK';
  const asked = parts.map(([counter, hits]) => ({ text: counter.text, counter, hits }));
  return { caller, asked, answer: { overall, told } };
}

function failed(counter: Counter, hits: number, error = 'timeout'): Call {
  return { caller: 9, asked: [{ text: counter.text, counter, hits }], answer: { status: 503, error } };
}

const contradictions = (...calls: Call[]) => examineCalls(calls).contradictions;

t.test('calls made one after the other pass, in whatever order their callers are heard', t => {
  const random = new SeededRandom(7);
  const counts = new Map<Counter, number>();
  const calls = Array.from({ length: 200 }, (_, caller) => {
    const parts = Array.from({ length: 1 + random.below(3) }, () => {
      const counter = random.pick([TEN, HUNDRED]);
      const hits = random.below(5);
      const after = (counts.get(counter) ?? 0) + hits;
      counts.set(counter, after);
      return [counter, hits, after > counter.limit ? null : counter.limit - after] as const;
    });
    return call(caller, ...parts);
  });
  for (let i = calls.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [calls[i], calls[j]] = [calls[j], calls[i]];
  }
  const verdict = examineCalls(calls);
  t.same(verdict.contradictions, []);
  for (const [counter, count] of counts) t.equal(verdict.tallies.get(counter)?.answered, count);
  t.end();
});

t.test('hits that two calls were given, or that no call was given, are a contradiction', t => {
  t.match(contradictions(call(1, [TEN, 3, 7]), call(2, [TEN, 2, 7])), [/a=x: 2 hits were told the count 3/]);
  t.match(contradictions(call(1, [TEN, 3, 7]), call(2, [TEN, 2, 4])), [
    /a=x: 1 hits below 6 are those of no/,
  ]);
  t.match(contradictions(call(1, [TEN, 3, 7]), call(2, [TEN, 0, 8])), [/a=x: 0 hits were told the count 2/]);
  t.match(contradictions(call(1, [TEN, 3, 8])), [/a=x: 3 hits were told the count 2/]);
  t.end();
});

t.test('an answer over the limit that comes too early is a contradiction', t => {
  t.same(contradictions(call(1, [TEN, 8, 2]), call(2, [TEN, 3, null])), []);
  t.match(contradictions(call(1, [TEN, 8, 2]), call(2, [TEN, 2, null])), [
    /2 hits after 8 are over the limit/,
  ]);
  t.match(contradictions(call(1, [TEN, 0, null])), [/over the limit of 10/]);
  t.end();
});

t.test('a failed call explains a gap as large as its hits, unless it cannot have been counted', t => {
  const gap = [call(1, [TEN, 3, 7]), call(2, [TEN, 2, 4])];
  t.same(contradictions(...gap, failed(TEN, 1)), []);
  t.equal(contradictions(...gap, failed(HUNDRED, 1)).length, 1);
  const certain = examineCalls([...gap, failed(TEN, 1, 'not sent')], {
    mayBeCounted: error => error !== 'not sent',
  });
  t.equal(certain.contradictions.length, 1);
  t.same(contradictions(call(1, [TEN, 8, 2]), call(2, [TEN, 2, null]), failed(TEN, 1)), []);
  t.equal(contradictions(call(1, [TEN, 8, 2]), call(1, [TEN, 1, 0]), failed(TEN, 0)).length, 1);
  t.end();
});

t.test('two counters that saw two calls in different orders are a contradiction', t => {
  const first = call(1, [TEN, 1, 9], [HUNDRED, 1, 98]);
  const second = call(2, [TEN, 1, 8], [HUNDRED, 1, 99]);
  t.match(contradictions(first, second), [/none of whole calls/]);
  t.same(examineCalls([first, second], { wholeCalls: false }).contradictions, [], 'unless judged one by one');
  t.end();
});

t.test('so is a caller that was told an earlier count later, and a call that another came into', t => {
  t.match(contradictions(call(1, [TEN, 1, 8]), call(1, [TEN, 1, 9])), [/none of whole calls/]);
  t.match(contradictions(call(1, [TEN, 1, null]), call(1, [TEN, 10, 0])), [/none of whole calls/]);
  t.match(contradictions(call(1, [TEN, 1, 9], [TEN, 1, 7]), call(2, [TEN, 1, 8])), [/none of whole calls/]);
  t.end();
});

t.test('where calls hold back, descriptors beside one that is over have added nothing', t => {
  const calls = [call(1, [TEN, 11, null], [HUNDRED, 5, 100]), call(2, [HUNDRED, 1, 99])];
  t.same(examineCalls(calls, { holdsBack: true }).contradictions, []);
  t.equal(examineCalls(calls, { holdsBack: true }).tallies.get(HUNDRED)?.answered, 1);
  t.equal(examineCalls(calls).contradictions.length, 1);
  t.end();
});

t.test('answers that do not fit their calls are contradictions', t => {
  const odd = call(1, [TEN, 1, 9]);
  const answered = (answer: Call['answer']) => contradictions({ ...odd, answer });
  t.match(answered({ overall: 'OK', told: [] }), [/call 0: 1 descriptors have 0 statuses/]);
  t.match(answered({ overall: 'OVER_LIMIT', told: [{ code: 'OK', remaining: 9 }] }), [/overall code/]);
  t.match(answered({ overall: 'OVER_LIMIT', told: [{ code: 'OVER_LIMIT', remaining: 1 }] }), [/was told/]);
  t.match(answered({ overall: 'OK', told: [{ code: 'UNKNOWN', remaining: 9 }] }), [/was told/]);
  t.end();
});
