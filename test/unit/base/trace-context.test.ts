import t from 'tap';
import { readTraceContext } from '../../../src/base/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const VALID = `00-${TRACE}-${PARENT}-01`;

t.test('a valid context is kept as it is', async t => {
  for (const flags of ['00', '01', 'ff']) {
    const traceparent = `00-${TRACE}-${PARENT}-${flags}`;
    t.same(readTraceContext(traceparent, ''), { traceparent, tracestate: '' });
  }
});

t.test('a later version becomes version 00', async t => {
  for (const later of [`01-${TRACE}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01-what-comes-next`]) {
    t.same(readTraceContext(later, ''), { traceparent: VALID, tracestate: '' });
  }
});

t.test('an invalid traceparent is no context', async t => {
  for (const invalid of [
    '',
    'x',
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
    `${VALID}-`,
    `${VALID}\r\nx: y`,
    ` ${VALID}`,
    `ff-${TRACE}-${PARENT}-01`,
    `01-${TRACE}-${PARENT}-01.x`,
    `01-${TRACE}-${PARENT}-01-${'x'.repeat(100)}`,
  ]) {
    t.equal(readTraceContext(invalid, ''), null, invalid);
  }
});

t.test('tracestate is kept if it is valid and not too long', async t => {
  const state = (text: string) => readTraceContext(VALID, text)?.tracestate;
  for (const valid of ['congo=t61rcWkgMzE', 'a=1,b=2', 'fw529a3039@dt=FfAAAA', '0x@a=1', 'rojo=a b!~']) {
    t.equal(state(valid), valid);
  }
  t.equal(state('a=1 ,\tb=2,,'), 'a=1,b=2', 'white space around entries and empty entries are left out');
  t.equal(state(`a=${'x'.repeat(256)}`), `a=${'x'.repeat(256)}`);
  for (const invalid of [
    'a',
    'A=1',
    'a=',
    'a=1;b\u0000',
    'a=é',
    '=1',
    'a=1=2',
    '0=1',
    `a=${'x'.repeat(257)}`,
    `a=${'x'.repeat(250)},b=${'x'.repeat(250)},c=${'x'.repeat(20)}`,
    Array.from({ length: 33 }, (_, i) => `k${i}=1`).join(','),
  ]) {
    t.equal(state(invalid), '', invalid);
  }
});
