import t from 'tap';
import type { RestHead } from '../../../../../src/tasks/rest/http/http.ts';
import type { ApiCall, ApiLimitVerdict } from '../../../../../src/tasks/rest/http/parts.ts';
import { EarlyLimits, EarlyVerdict } from '../../../../../src/tasks/rest/threads/early-limits.ts';
import type { VerdictMessage } from '../../../../../src/tasks/rest/threads/messages.ts';

const ALLOWED: ApiLimitVerdict = { allowed: true, nearest: null };

function open() {
  const counted: ApiCall[] = [];
  const engine = {
    active: true,
    failure: null as Error | null,
    ask: async (call: ApiCall) => {
      counted.push(call);
      if (engine.failure !== null) throw engine.failure;
      return ALLOWED;
    },
  };
  return { counted, engine, limits: new EarlyLimits(engine) };
}

function head(authorization: string, method = 'POST'): RestHead {
  return {
    method,
    host: '',
    path: '/',
    query: '',
    headers: { authorization },
    remoteAddress: '',
  };
}

/** Counts a call; the verdict comes later. */
function counts(limits: EarlyLimits, tenant: string, asked: RestHead) {
  const verdict = Promise.withResolvers<VerdictMessage>();
  return { limit: limits.count(tenant, asked, verdict.resolve), verdict: verdict.promise };
}

const WRITE: ApiCall = { tenant: 'acme', kind: 'write', user: 'usr_1' };

t.test('a caller is known by its token after the first call, for calls of both kinds', async t => {
  const { limits, counted } = open();
  t.equal(counts(limits, 'acme', head('Bearer a')).limit, 'unknown_caller');
  t.same(counted, [], 'the thread asks');
  t.same(await limits.ask(WRITE, 'Bearer a'), [ALLOWED, '']);
  const { limit, verdict } = counts(limits, 'acme', head('Bearer a', 'HEAD'));
  t.same(limit, { user: 'usr_1' });
  t.same(await verdict, [ALLOWED, '']);
  t.same(counted, [WRITE, { ...WRITE, kind: 'read' }]);
});

t.test('a token says nothing in another tenant', async t => {
  const { limits } = open();
  await limits.ask(WRITE, 'Bearer a');
  t.equal(counts(limits, 'globex', head('Bearer a')).limit, 'unknown_caller');
});

t.test('a caller whose token is not valid any more uses up nothing of the tenant', async t => {
  const { limits, counted } = open();
  await limits.ask(WRITE, 'Bearer a');
  await limits.ask({ ...WRITE, user: '' }, 'Bearer a');
  t.equal(counts(limits, 'acme', head('Bearer a')).limit, 'unknown_caller');
  t.equal(counted.length, 2);
});

t.test('nothing is counted while no rules limit calls', async t => {
  const { limits, engine, counted } = open();
  await limits.ask(WRITE, 'Bearer a');
  engine.active = false;
  t.equal(counts(limits, 'acme', head('Bearer a')).limit, 'none');
  t.equal(counts(limits, 'acme', head('Bearer b')).limit, 'none');
  t.equal(counted.length, 1);
  engine.active = true;
  t.same(counts(limits, 'acme', head('Bearer a')).limit, { user: 'usr_1' });
});

t.test('a failure of the engine is passed on as text', async t => {
  const { limits, engine } = open();
  await limits.ask(WRITE, 'Bearer a');
  engine.failure = new Error('no rules');
  t.same(await limits.ask(WRITE, 'Bearer a'), [null, 'no rules']);
  t.same(await counts(limits, 'acme', head('Bearer a')).verdict, [null, 'no rules']);
});

t.test('a verdict may arrive before or after it is needed', async t => {
  const early = new EarlyVerdict({ user: 'usr_1' });
  early.heard([ALLOWED, '']);
  t.same(early.get(), ALLOWED);
  const late = new EarlyVerdict({ user: 'usr_1' });
  const got = late.get();
  late.heard([ALLOWED, '']);
  t.same(await got, ALLOWED);
  t.same(new EarlyVerdict('none').get(), ALLOWED);
});

t.test('a failure reaches only calls that need the verdict', async t => {
  const unused = new EarlyVerdict({ user: 'usr_1' });
  unused.heard([null, 'no rules']);
  t.throws(() => unused.get(), { message: 'no rules' });
  const awaited = new EarlyVerdict({ user: 'usr_1' });
  const got = awaited.get();
  awaited.heard([null, 'no rules']);
  await t.rejects(Promise.resolve(got), { message: 'no rules' });
});

t.test('a question about limits says nothing about who has a token', async t => {
  const { limits, counted } = open();
  const question = { ...WRITE, onlyAsks: true } as const;
  t.same(await limits.ask(question, 'Bearer a'), [ALLOWED, '']);
  t.same(counted, [question]);
  t.equal(counts(limits, 'acme', head('Bearer a')).limit, 'unknown_caller');
});
