import t from 'tap';
import { statistic } from '../support/asking.ts';
import { quotaClientMissing, runQuotaClient } from '../support/grpc-clients.ts';
import { redisFor } from '../support/redis-server.ts';
import { serviceFor } from '../support/service.ts';
import { until } from '../support/until.ts';

// A client of grpcio with the published protocol: very many buckets, and reports that no proxy should send.

const RULES = `domain: d
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 60000}
  - key: plan
    descriptors:
      - key: user
        rate_limit: {unit: minute, requests_per_unit: 600000}
`;

const ONE_ASSIGNMENT = { tokens: 1 };
const UNREADABLE = 'INTERNAL';
const REFUSED = 'INVALID_ARGUMENT';
const TOO_LARGE = 'RESOURCE_EXHAUSTED';

/** Answers by their kind, whether the id of a bucket to forget came back as it was sent, or how the stream ended. */
const ODD = {
  'no domain': { status: REFUSED, text: /^`domain` is empty/ },
  'changed domain': { status: REFUSED, text: /^`domain` is "e", but the first message had "d"/ },
  'domain only once': { tokens: 2 },
  'unknown domain': { ALLOW_ALL: 1 },
  'domain that is no text': { status: UNREADABLE, text: /field 1 is not valid UTF-8/ },
  'no id': true,
  'empty key': true,
  'empty value': true,
  'id that is no text': true,
  'id of 33 entries': true,
  'id of 64 KiB': true,
  'id of more than 64 KiB': { status: TOO_LARGE, text: /^the id of a bucket has 65550 bytes/ },
  'a key twice': ONE_ASSIGNMENT,
  'largest counts': { DENY_ALL: 1 },
  'after the largest counts': ONE_ASSIGNMENT,
  'negative time': ONE_ASSIGNMENT,
  'huge time': ONE_ASSIGNMENT,
  'no time': ONE_ASSIGNMENT,
  'unknown fields': ONE_ASSIGNMENT,
  'messages without reports': ONE_ASSIGNMENT,
  gzip: ONE_ASSIGNMENT,
  'not a report': { status: UNREADABLE, text: /incomplete varint/ },
  'cut short': { status: UNREADABLE, text: /field 2 is longer than the message/ },
  'another type of a field': { status: UNREADABLE, text: /field 1 has wire type 0, not 2/ },
  'too many reports': { status: TOO_LARGE, text: /more than 100000 buckets/ },
  '30,000 buckets': { tokens: 20_000, abandon: 10_000 },
  'half-close': { status: 'OK', text: '' },
  'half-close at once': { status: 'OK', text: '' },
  cancel: { status: 'CANCELLED' },
  deadline: { status: 'DEADLINE_EXCEEDED' },
  'deadline in time': true,
} as const;

for (const store of ['embedded', 'Redis'])
  t.test(
    `a client of grpcio gets what its buckets have, and every odd report has its answer: ${store}`,
    { skip: quotaClientMissing(), timeout: 240_000 },
    async t => {
      const env = store === 'Redis' ? { KVCACHE_URL: (await redisFor(t)).address } : {};
      const service = await serviceFor(t, { rules: RULES, env });
      const { one, ten, odd, honest } = await runQuotaClient(service.grpc);
      t.same(one, { kinds: { tokens: 2_000 }, rounds: 2, wrong: 0 });
      t.match(ten, { rounds: 20, wrong: 0 });
      // The first proxies get most of a limit, until they report again.
      const { tokens = 0, DENY_ALL: denied = 0, ...others } = ten.kinds;
      t.same(others, {});
      t.equal(tokens + denied, 20_000);
      t.ok(tokens > 10_000, `${tokens} token buckets`);
      t.strictSame(Object.keys(odd), Object.keys(ODD));
      for (const [name, wanted] of Object.entries(ODD)) t.match(odd[name], wanted, name);
      const { tokens: served = 0, ...failed } = honest;
      t.same(failed, {}, 'a proxy beside it is always answered');
      t.ok(served > 20, `${served} answers`);
      await until(async () => (await statistic(service.debug, 'ratelimit.quota.streams')) === 0);
      await until(async () => (await statistic(service.debug, 'ratelimit.quota.buckets')) === 0);
    },
  );
