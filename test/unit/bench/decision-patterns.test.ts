import { Redis } from 'ioredis';
import t from 'tap';
import { BaselineDecider, ruleLevel } from '../../../bench/load/decisions/baseline-decide.ts';
import { LIMIT_KIND_NAMES } from '../../../bench/load/decisions/limit-kinds.ts';
import {
  CODE,
  DOMAIN,
  jsonBodyOf,
  PATTERNS,
  type Pattern,
  requestOf,
  routesPattern,
  templateOf,
} from '../../../bench/load/decisions/patterns.ts';
import { benchRules, ruleFile } from '../../../bench/load/decisions/rules.ts';
import { RequestFrames } from '../../../bench/support/grpc-load/request-frames.ts';
import { CODE_NAMES, encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions } from '../../support/decisions.ts';
import { redisFor } from '../../support/redis-server.ts';
import { sharedStoreKind } from '../../support/stores.ts';

const ROUTES = 10;
const ALL: readonly Pattern[] = [...Object.values(PATTERNS), routesPattern(ROUTES)];
const NUMBERS = [0, 1, 12_345, 99_999];

t.test('what a generator sends is the request of the same number', async t => {
  for (const pattern of ALL) {
    const frames = new RequestFrames(templateOf(pattern));
    for (const number of NUMBERS) {
      const out = Buffer.alloc(1_000);
      const end = frames.write(out, 0, 3, number);
      const request = encodeRateLimitRequest(requestOf(pattern, number));
      t.same(
        out.subarray(end - request.length, end),
        Buffer.from(request),
        `${pattern.title}, call ${number}`,
      );
    }
  }
});

t.test('over /json the same is asked', async t => {
  t.same(JSON.parse(jsonBodyOf(PATTERNS.keys, 7)), {
    domain: DOMAIN,
    descriptors: [{ entries: [{ key: 'user', value: 'user-000007' }] }],
  });
});

t.test('the service and the baseline give the answers that the patterns say', async t => {
  const rules = benchRules(ROUTES);
  const service = new Decisions({ store: await sharedStoreKind.open(t), rules: ruleFile(rules) });
  const redis = await redisFor(t);
  const client = new Redis({ port: redis.port, host: '127.0.0.1' });
  t.teardown(() => client.disconnect());
  const baseline = new BaselineDecider(client, new Map([[DOMAIN, ruleLevel(rules)]]));
  for (const pattern of ALL) {
    for (const number of NUMBERS) {
      if (pattern === PATTERNS.over) {
        await service.ask(requestOf(pattern, number, 2));
        await baseline.decide(requestOf(pattern, number, 2));
      }
      const { overallCode, statuses } = await service.ask(requestOf(pattern, number));
      const other = await baseline.decide(requestOf(pattern, number));
      const what = `${pattern.title}, call ${number}`;
      t.equal(overallCode, pattern.code, what);
      t.equal(statuses.filter(status => status.currentLimit !== null).length, pattern.limited, what);
      t.equal(other.overallCode, CODE_NAMES[overallCode], what);
      t.same(
        other.statuses.map(({ code, limitRemaining }) => [code, limitRemaining ?? 0]),
        statuses.map(({ code, limitRemaining }) => [CODE_NAMES[code], limitRemaining]),
        what,
      );
    }
  }
});

t.test('every kind of limits admits the patterns that are compared, and counts each hit', async t => {
  for (const kind of LIMIT_KIND_NAMES) {
    const rules = ruleFile(benchRules(ROUTES, kind));
    const service = new Decisions({ store: await sharedStoreKind.open(t), rules });
    for (const number of NUMBERS) {
      const answer = await service.ask(requestOf(PATTERNS.hot, number));
      t.match(answer, { overallCode: CODE.ok }, kind);
    }
    const { statuses } = await service.ask(requestOf(PATTERNS.hot, 0));
    const other = await service.ask(requestOf(PATTERNS.keys, 0));
    t.equal(other.statuses[0].limitRemaining - statuses[0].limitRemaining, NUMBERS.length, kind);
  }
});
