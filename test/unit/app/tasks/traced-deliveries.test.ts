import t from 'tap';
import { TracedDeliveries } from '../../../../src/app/tasks/traced-deliveries.ts';
import { OtlpTracing } from '../../../../src/app/tracing/otlp-tracing.ts';
import type { TraceContext } from '../../../../src/base/trace-context.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import type {
  Deliveries,
  DeliveryOutcome,
  DeliveryRequest,
} from '../../../../src/tasks/delivery/delivery.ts';
import { deliveryError, notMade } from '../../../../src/tasks/delivery/delivery.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { type KeptSpan, KeptSpans } from '../../../support/kept-spans.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { pushTo, TASK } from '../../../support/push-workers.ts';

const CREATOR: TraceContext = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1',
};

/** Deliveries that end like this, and what they were asked for. */
function deliveriesOf(outcome: DeliveryOutcome): Deliveries & { readonly requests: DeliveryRequest[] } {
  const requests: DeliveryRequest[] = [];
  const nothing = async () => {};
  const deliver = async (request: DeliveryRequest) => {
    requests.push(request);
    return outcome;
  };
  return { requests, free: 3, capacity: 5, deliver, abort: () => {}, start: nothing, stop: nothing };
}

async function traced(
  outcome: Partial<DeliveryOutcome>,
  request = pushTo('https://example.com/hook?key=s'),
): Promise<{ span: KeptSpan; sent: DeliveryRequest }> {
  const spans = new KeptSpans();
  const inner = deliveriesOf({ ...notMade(''), error: null, ...outcome });
  const deliveries = new TracedDeliveries(inner, spans);
  t.same([deliveries.free, deliveries.capacity], [3, 5]);
  t.match(await deliveries.deliver(request), outcome);
  return { span: spans.ended[0], sent: inner.requests[0] };
}

t.test('each attempt is a span that links to the call that created the task', async t => {
  const request = pushTo('https://example.com:8443/hook?key=s', { trace: CREATOR });
  const { span, sent } = await traced({ kind: 'answered', status: 204 }, request);
  t.match(span, { name: 'Task Delivery', kind: 'client', linked: CREATOR, failure: '' });
  t.same(span.attributes, {
    'http.request.method': 'POST',
    'http.request.resend_count': 2,
    'url.scheme': 'https',
    'server.address': 'example.com',
    'server.port': 8_443,
    'sluice.tenant': 'acme',
    'sluice.worker': 'mailer',
    'sluice.task.id': TASK.id,
    'sluice.task.attempt': 3,
    'sluice.task.type': 'email.welcome',
    'http.response.status_code': 204,
  });
  t.not(sent.trace?.traceparent, CREATOR.traceparent, 'the worker gets the context of the attempt');
});

t.test('a failed attempt is an error', async t => {
  const refused = await traced({ status: 500, error: deliveryError('http_5xx', '500 from worker') });
  t.match(refused.span, {
    failure: '500 from worker',
    attributes: { 'error.type': 'http_5xx', 'http.response.status_code': 500, 'server.port': 443 },
  });
  const lost = await traced({ error: deliveryError('connection_lost') }, pushTo('http://[::1]/'));
  t.match(lost.span.attributes, {
    'error.type': 'connection_lost',
    'server.address': '::1',
    'server.port': 80,
  });
  t.notOk('http.response.status_code' in lost.span.attributes);
});

t.test('an attempt is sampled if the call that created the task is; others with the rate', async t => {
  for (const rate of ['0', '1']) {
    const open = await OtlpTracing.load(loadSettings({ TRACING_SAMPLING_RATE: rate }));
    const surroundings = {
      stats: new StatsRegistry(),
      clock: new ManualClock(0),
      logger: new KeepingLogger(),
    };
    const tracing = open(surroundings);
    t.teardown(() => tracing.stop());
    const isSampled = (linked: TraceContext | null) => tracing.beginLinked('attempt', linked).recording;
    const unsampled = { ...CREATOR, traceparent: CREATOR.traceparent.replace(/01$/, '00') };
    t.same([isSampled(CREATOR), isSampled(unsampled), isSampled(null)], [true, false, rate === '1']);
    const { traceparent } = tracing.beginLinked('attempt', CREATOR).context;
    t.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    t.notMatch(traceparent, CREATOR.traceparent.slice(3, 35), 'it begins a trace');
  }
});
