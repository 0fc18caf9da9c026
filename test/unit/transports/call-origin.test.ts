import t from 'tap';
import { traceFieldOf, traceIdOf } from '../../../src/transports/call-origin.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

function idOf(headers: Readonly<Record<string, string>>): string {
  return traceIdOf(traceFieldOf(name => headers[name] ?? ''));
}

t.test('the trace ID is that of W3C Trace Context, else of B3', async t => {
  t.equal(idOf({ traceparent: `00-${ID}-${SPAN}-01` }), ID);
  t.equal(idOf({ traceparent: `01-${ID}-${SPAN}-01-more` }), ID, 'later versions have more fields');
  t.equal(idOf({ b3: `${ID}-${SPAN}-1` }), ID);
  t.equal(idOf({ 'x-b3-traceid': ID.toUpperCase() }), ID);
  t.equal(idOf({ 'x-b3-traceid': SPAN }), `${'0'.repeat(16)}${SPAN}`, 'IDs of 64 bits are padded');
  t.equal(idOf({ traceparent: `00-${ID}-${SPAN}-01`, b3: `${SPAN}-${SPAN}-1` }), ID);
});

t.test('without a valid ID there is none', async t => {
  const invalid = [
    {},
    { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` },
    { traceparent: `00-${ID.slice(1)}-${SPAN}-01` },
    { traceparent: 'injected\n"' },
    { traceparent: `00-${ID}-${SPAN}-01-${'0'.repeat(256)}` },
    { b3: '0' },
    { 'x-b3-traceid': `${ID}0` },
  ];
  for (const headers of invalid) t.equal(idOf(headers), '', JSON.stringify(headers));
});
