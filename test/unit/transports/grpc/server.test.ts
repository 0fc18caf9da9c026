import t from 'tap';
import { joinServices } from '../../../../src/transports/grpc/server.ts';

t.test('a joined service has the methods of all, each with its own handler', async t => {
  const [a, b, c, d] = [() => {}, () => {}, () => {}, () => {}];
  const { unary, serverStreaming } = joinServices([
    { unary: new Map([['/a/A', a]]), serverStreaming: new Map([['/a/B', b]]) },
    { unary: new Map([['/c/C', c]]), serverStreaming: new Map([['/c/D', d]]) },
  ]);
  t.equal(unary.get('/a/A'), a);
  t.equal(unary.get('/c/C'), c);
  t.equal(serverStreaming.get('/a/B'), b);
  t.equal(serverStreaming.get('/c/D'), d);
  t.equal(unary.size + serverStreaming.size, 4);
});
