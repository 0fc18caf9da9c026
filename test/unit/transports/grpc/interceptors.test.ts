import t from 'tap';
import {
  type BidiMethod,
  GRPC_STATUS,
  type GrpcService,
  type UnaryMethod,
  type UnaryReply,
} from '../../../../src/grpc/service.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { measuredService } from '../../../../src/transports/grpc/interceptors.ts';
import { MethodCall } from '../../../support/grpc-method.ts';

const PATH = '/some.package.Service/Method';
const TOTAL = 'ratelimit_server.Method.total_requests';
const TIME = 'ratelimit_server.Method.response_time';

/** A measured method, with its statistics and its clock in hand. */
function measure(method: UnaryMethod) {
  const stats = new StatsRegistry();
  const clock = { nowMs: 1000 };
  const service: GrpcService = {
    unary: new Map([[PATH, method]]),
    serverStreaming: new Map(),
    bidiStreaming: new Map(),
  };
  const measured = measuredService(service, { stats, nowMs: () => clock.nowMs }).unary.get(PATH)!;
  return { measured, stats, clock, time: () => stats.timers().get(TIME)! };
}

t.test('a call counts when it starts, and its time is recorded when it is answered', async t => {
  let reply: UnaryReply | null = null;
  const { measured, stats, clock, time } = measure((_request, given) => {
    reply = given;
  });
  const call = new MethodCall(measured);
  t.equal(new Map(stats.counters()).get(TOTAL), 1);
  t.equal(time().count, 0);
  clock.nowMs += 2.5;
  reply!.send(Buffer.from('answer'));
  t.strictSame(call.answer, { response: Buffer.from('answer') });
  t.match(time(), { count: 1, sumMs: 2.5 });
});

t.test('a refused call is measured too', async t => {
  const { measured, stats, time } = measure((_request, reply) => reply.fail(GRPC_STATUS.notFound, 'none'));
  t.strictSame(new MethodCall(measured).answer, { status: 5, message: 'none' });
  t.equal(new Map(stats.counters()).get(TOTAL), 1);
  t.equal(time().count, 1);
});

t.test('a call whose method throws is measured, and the server still sees the error', async t => {
  const { measured, stats, time } = measure(() => {
    throw new Error('broken');
  });
  t.throws(() => new MethodCall(measured), /broken/);
  t.equal(new Map(stats.counters()).get(TOTAL), 1);
  t.equal(time().count, 1);
});

t.test('a method that throws after its answer is one call', async t => {
  const { measured, time } = measure((_request, reply) => {
    reply.send(Buffer.alloc(0));
    throw new Error('too late');
  });
  t.throws(() => new MethodCall(measured), /too late/);
  t.equal(time().count, 1);
});

t.test('streams pass unmeasured', async t => {
  const stats = new StatsRegistry();
  const serverStreaming = new Map([['/s/Watch', () => {}]]);
  const bidiStreaming = new Map<string, BidiMethod>([
    ['/s/Talk', () => ({ message: () => {}, end: () => {} })],
  ]);
  const service: GrpcService = { unary: new Map(), serverStreaming, bidiStreaming };
  const measured = measuredService(service, { stats, nowMs: () => 0 });
  t.equal(measured.serverStreaming.get('/s/Watch'), serverStreaming.get('/s/Watch'));
  t.equal(measured.bidiStreaming.get('/s/Talk'), bidiStreaming.get('/s/Talk'));
  t.equal(stats.timers().size, 0);
});
