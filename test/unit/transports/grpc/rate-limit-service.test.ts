import t from 'tap';
import { Fault, type FaultCode } from '../../../../src/base/fault.ts';
import type { Decider } from '../../../../src/decision/decider.ts';
import { rateLimitService } from '../../../../src/transports/grpc/rate-limit-service.ts';
import { MethodCall } from '../../../support/grpc-method.ts';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

function call(decide: Decider['decide']): MethodCall {
  return new MethodCall(rateLimitService({ decide }).unary.get(PATH)!, Buffer.from('request'));
}

t.test('the request goes to the decider as it came, and its protobuf answer comes back', async t => {
  const { answer } = call((request, format, reply) => {
    t.equal(Buffer.from(request).toString(), 'request');
    t.equal(format, 'protobuf');
    reply.answered(Buffer.from('response'), false);
  });
  t.strictSame(answer, { response: Buffer.from('response') });
});

t.test('over limit is an answer, not an error', async t => {
  const { answer } = call((_request, _format, reply) => reply.answered(Buffer.from('over'), true));
  t.strictSame(answer, { response: Buffer.from('over') });
});

t.test('each kind of refusal has its status, and keeps its text', async t => {
  const statuses: Record<FaultCode, number> = {
    bad_request: 3,
    unparseable: 13,
    too_large: 8,
    unimplemented: 12,
    no_rules: 14,
    store_failed: 14,
    overloaded: 8,
    cancelled: 1,
    internal: 13,
  };
  for (const [code, status] of Object.entries(statuses)) {
    const fault = new Fault(code as FaultCode, `because of ${code}`);
    const { answer } = call((_request, _format, reply) => reply.refused(fault));
    t.strictSame(answer, { status, message: `because of ${code}` }, code);
  }
});

t.test('no other method is served', async t => {
  const { unary, serverStreaming } = rateLimitService({ decide: () => {} });
  t.strictSame([...unary.keys(), ...serverStreaming.keys()], [PATH]);
});

t.test('the reply knows where a call comes from; its trace ID is kept only on demand', async t => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  for (const keepsTraceIds of [false, true]) {
    const seen: unknown[] = [];
    const decider = {
      decide: (...[, , reply]: Parameters<Decider['decide']>) => void seen.push(reply.origin),
    };
    const method = rateLimitService(decider, keepsTraceIds).unary.get(PATH)!;
    new MethodCall(method, Buffer.alloc(0), { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    t.same(seen, [{ peer: '10.1.2.3', traceId: keepsTraceIds ? traceId : '' }]);
  }
});
