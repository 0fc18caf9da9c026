import t from 'tap';
import type { BidiMethod } from '../../../../src/grpc/service.ts';
import { joinServices } from '../../../../src/transports/grpc/server.ts';

const bidi = (): BidiMethod => () => ({ message: () => {}, end: () => {} });

t.test('a joined service has the methods of all, each with its own handler', async t => {
  const [a, b, c, d] = [() => {}, () => {}, () => {}, () => {}];
  const [e, f] = [bidi(), bidi()];
  const { unary, serverStreaming, bidiStreaming } = joinServices([
    {
      unary: new Map([['/a/A', a]]),
      serverStreaming: new Map([['/a/B', b]]),
      bidiStreaming: new Map([['/a/E', e]]),
    },
    {
      unary: new Map([['/c/C', c]]),
      serverStreaming: new Map([['/c/D', d]]),
      bidiStreaming: new Map([['/c/F', f]]),
    },
  ]);
  t.equal(unary.get('/a/A'), a);
  t.equal(unary.get('/c/C'), c);
  t.equal(serverStreaming.get('/a/B'), b);
  t.equal(serverStreaming.get('/c/D'), d);
  t.equal(bidiStreaming.get('/a/E'), e);
  t.equal(bidiStreaming.get('/c/F'), f);
  t.equal(unary.size + serverStreaming.size + bidiStreaming.size, 6);
});
