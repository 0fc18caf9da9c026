import t from 'tap';
import { deciderOfCallers } from '../../../../src/app/decision/rejected-refunds.ts';
import type { Fault } from '../../../../src/base/fault.ts';
import type { Decider } from '../../../../src/decision/decider.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { descriptor, refund, request } from '../../../support/decisions.ts';

/** A decider for callers with the environment, and the decider behind it, which keeps what it is asked. */
function decider(env: Readonly<Record<string, string>>) {
  const asked: Uint8Array[] = [];
  const inner: Decider = { decide: asking => asked.push(asking) };
  const stats = new StatsRegistry();
  const outer = deciderOfCallers(loadSettings({ BACKEND_TYPE: 'memory', ...env }), stats, inner);
  const ask = (bytes: Uint8Array): Fault | null => {
    let fault: Fault | null = null;
    outer.decide(bytes, 'protobuf', {
      gone: false,
      answered: () => {},
      refused: refused => {
        fault = refused;
      },
    });
    return fault;
  };
  return {
    asked,
    inner,
    outer,
    ask,
    rejected: () => new Map(stats.counters()).get('ratelimit.service.negative_hits_rejected') ?? 0,
  };
}

t.test('refunds are accepted by default, without another look at the requests', async t => {
  for (const env of [{}, { ENABLE_NEGATIVE_HITS: 'true' }]) {
    const { inner, outer, rejected } = decider(env);
    t.equal(outer, inner);
    t.equal(rejected(), 0);
  }
});

t.test('ENABLE_NEGATIVE_HITS=false rejects a request with a refund as a whole', async t => {
  const { asked, ask, rejected } = decider({ ENABLE_NEGATIVE_HITS: 'false' });
  const mixed = {
    ...request('d', 'a=b', descriptor('c=d', { hitsAddend: 3, isNegativeHits: true })),
  };
  t.match(ask(encodeRateLimitRequest(mixed)), {
    code: 'unimplemented',
    message:
      /^negative hits are not enabled on this server: `descriptors\[1\]\.is_negative_hits` is true; remove it, or set/,
  });
  t.match(
    ask(encodeRateLimitRequest(refund('', 1, 'a=b'))),
    { code: 'unimplemented' },
    'before all other checks',
  );
  t.same(asked, []);
  t.equal(rejected(), 2);
});

t.test('with ENABLE_NEGATIVE_HITS=false, other requests are decided as always', async t => {
  const { asked, ask, rejected } = decider({ ENABLE_NEGATIVE_HITS: 'false' });
  const plain = encodeRateLimitRequest(request('d', 'a=b', 'c=d'));
  const broken = Buffer.from([0xff]);
  t.equal(ask(plain), null);
  t.equal(ask(broken), null, 'also one that cannot be decoded, which the decider rejects');
  t.same(asked, [plain, broken]);
  t.equal(rejected(), 0);
});
