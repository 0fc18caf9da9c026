import t from 'tap';
import { CallLimits } from '../../../../../src/tasks/rest/http/call-limits.ts';
import type { AskedLimit, RestRequest } from '../../../../../src/tasks/rest/http/http.ts';
import type { ApiCall, ApiLimitVerdict } from '../../../../../src/tasks/rest/http/parts.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

const CALL: ApiCall = { tenant: 'acme', kind: 'read', user: 'usr_1' };

function verdict(remaining: number): ApiLimitVerdict {
  return { allowed: true, nearest: { limit: 9, remaining, windowSeconds: 60, resetSeconds: 7 } };
}

function open() {
  const asked: string[] = [];
  const logger = new KeepingLogger();
  const ask = async ({ user }: ApiCall, authorization: string): Promise<ApiLimitVerdict> => {
    asked.push(`${user} by ${authorization}`);
    return verdict(1);
  };
  return { asked, logger, limits: new CallLimits({ ask }, new ManualClock(0), logger) };
}

function request(askedLimit: AskedLimit | null): RestRequest {
  return {
    method: 'GET',
    host: '',
    path: '',
    query: '',
    headers: { authorization: 'Bearer a' },
    remoteAddress: '',
    body: new Uint8Array(0),
    askedLimit,
    gone: new AbortController().signal,
  };
}

t.test('a call that has not been counted is', async t => {
  const { limits, asked } = open();
  t.equal((await limits.count(CALL, request(null)))['RateLimit'], '"default";r=1;t=7');
  t.same(asked, ['usr_1 by Bearer a']);
});

t.test('a verdict about the user of the call is used', async t => {
  const { limits, asked } = open();
  const early = { user: 'usr_1', get: () => verdict(2) };
  t.equal((await limits.count(CALL, request(early)))['RateLimit'], '"default";r=2;t=7');
  t.same(
    await limits.count(CALL, request({ user: null, get: () => ({ allowed: true, nearest: null }) })),
    {},
  );
  t.same(asked, []);
});

t.test('a verdict about a user whose token is not valid any more is not used', async t => {
  const { limits, asked } = open();
  const early = { user: 'usr_1', get: () => verdict(2) };
  await limits.count({ ...CALL, user: '' }, request(early));
  t.same(asked, [' by Bearer a']);
});

t.test('a call is let through if there is no verdict, and the log says so', async t => {
  const { limits, logger } = open();
  const early = {
    user: 'usr_1',
    get: () => {
      throw new Error('no rules');
    },
  };
  t.same(await limits.count(CALL, request(early)), {});
  t.match(logger.lines.at(-1), { message: /API limits are not enforced/, fields: { error: /no rules/ } });
});
