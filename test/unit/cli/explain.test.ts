import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import t from 'tap';
import type { DescriptorExplanation, Explanation } from '../../../src/decision/explain/explain-descriptor.ts';
import { type Run, run } from './run.ts';

const LIMIT = {
  rule: 'shop.user',
  name: 'each-user',
  requestsPerUnit: 5,
  unit: 'MINUTE',
  shadowMode: true,
  quotaMode: false,
  statistics: 'ratelimit.service.rate_limit.shop.user',
};

const EXPLANATION: Explanation = {
  domain: 'shop',
  time: '2023-11-14T22:13:20.000Z',
  descriptors: [
    {
      entries: [{ key: 'user', value: 'anna' }],
      hits: 1,
      isRefund: false,
      outcome: 'limited',
      why: '`user` matches `user=anna` by key alone',
      levels: [],
      limit: LIMIT,
      key: 'shop_user_anna_1699999980',
      window: { start: '2023-11-14T22:13:00.000Z', end: '2023-11-14T22:14:00.000Z', resetSeconds: 40 },
      count: { now: 5, after: 6, heldBack: false },
      status: { code: 'OK' },
    },
    {
      entries: [
        { key: 'path', value: '/x' },
        { key: 'method', value: '\u001b[31m' },
      ],
      hits: 1,
      isRefund: false,
      outcome: 'no limit',
      why: 'there are no entries below `shop.path`',
      levels: [],
      status: { code: 'OK' },
    },
  ],
  answer: { overallCode: 'OK', statuses: [] },
};

/** A debug port that answers every request so; returns its address and what it was asked. */
async function debugPort(t: Test, status: number, body: unknown) {
  const asked: { request: string; body: unknown }[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    asked.push({ request: `${request.method} ${request.url}`, body: JSON.parse(await text(request)) });
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { address: `localhost:${(server.address() as AddressInfo).port}`, asked };
}

function explain(address: string, ...args: string[]): Promise<Run> {
  const request = ['--domain', 'shop', '--descriptors', 'user=anna', '--descriptors', 'path=/x,method=GET'];
  return run('explain', '--debug-address', address, ...request, ...args);
}

t.test('an HTTP request can stand for the descriptors', async t => {
  const { address, asked } = await debugPort(t, 200, EXPLANATION);
  const flags = ['--debug-address', address, '--domain', 'shop'];
  const headers = ['--header', 'X-User: ann', '--header', 'x-list:a', '--header', 'x-list: b'];
  const others = ['--host', 'shop.example', '--client-address', '203.0.113.7'];
  t.match(await run('explain', ...flags, '--request', 'GET /a?b=c', ...headers, ...others), {
    status: 0,
    stdout: /^OK would be the answer/,
  });
  t.strictSame(asked[0].body, {
    domain: 'shop',
    request: {
      method: 'GET',
      target: '/a?b=c',
      host: 'shop.example',
      clientAddress: '203.0.113.7',
      headers: { 'x-user': 'ann', 'x-list': 'a,b' },
    },
  });
  const mistakes: readonly (readonly [readonly string[], RegExp])[] = [
    [['--request', '/a'], /--request needs a method and a target: write --request "GET/],
    [['--request', 'GET /a /b'], /--request needs a method and a target/],
    [['--header', 'x-user: ann'], /--request needs a method and a target/],
    [
      ['--request', 'GET /a', '--header', 'ann'],
      /--header "ann" is not a header: write --header "NAME: VALUE"/,
    ],
    [['--request', 'GET /a', '--descriptors', 'a=b'], /--request stands for the descriptors/],
    [['--request', 'GET /a', '--hits', '2'], /--request explains one hit/],
  ];
  for (const [args, message] of mistakes) {
    const { status, stderr } = await run('explain', ...flags, ...args);
    t.equal(status, 2);
    t.match(stderr, message);
  }
  t.equal(asked.length, 1);
});

t.test('people get the answer, a line for each descriptor, and how it came about', async t => {
  const { address, asked } = await debugPort(t, 200, EXPLANATION);
  t.same(await explain(address), {
    status: 0,
    stdout: `OK would be the answer; nothing was counted
user=anna                  OK  5 per minute  5 used  6 with this request  resets in 40s
path=/x,method=\\u001b[31m  OK  no limit

user=anna
  why         \`user\` matches \`user=anna\` by key alone
  rule        shop.user, named each-user, in shadow mode
  key         shop_user_anna_1699999980
  window      2023-11-14T22:13:00.000Z to 2023-11-14T22:14:00.000Z
  statistics  ratelimit.service.rate_limit.shop.user

path=/x,method=\\u001b[31m
  why  there are no entries below \`shop.path\`
`,
    stderr: '',
  });
  t.same(asked, [
    {
      request: 'POST /explain',
      body: {
        domain: 'shop',
        descriptors: [
          { entries: [{ key: 'user', value: 'anna' }] },
          {
            entries: [
              { key: 'path', value: '/x' },
              { key: 'method', value: 'GET' },
            ],
          },
        ],
        hitsAddend: 1,
      },
    },
  ]);
});

t.test('programs get what the service said', async t => {
  const { address } = await debugPort(t, 200, EXPLANATION);
  const { stdout } = await explain(address, '--json');
  t.same(JSON.parse(stdout), EXPLANATION);
});

t.test('unknown counts and hits that are held back are reported', async t => {
  const [first] = EXPLANATION.descriptors;
  const held = { ...first, count: { now: 5, after: 5, heldBack: true } };
  const { address } = await debugPort(t, 200, {
    ...EXPLANATION,
    descriptors: [{ ...first, count: null }, held],
  });
  const { stdout } = await explain(address);
  t.match(stdout, /5 per minute {2}count unknown/);
  t.match(stdout, /5 used {9}held back/);
});

t.test('0 hits are asked for with each descriptor', async t => {
  const { address, asked } = await debugPort(t, 200, EXPLANATION);
  await explain(address, '--hits', '0');
  t.match(asked[0].body, { descriptors: [{ hitsAddend: 0 }, { hitsAddend: 0 }] });
});

t.test('a rejection by the service is shown with its reason', async t => {
  const { address } = await debugPort(t, 503, {
    error: { code: 'no_rules', message: 'no rules are loaded yet' },
  });
  t.match(await explain(address), {
    status: 2,
    stderr: `sluice explain: ${address} refused the request: no rules are loaded yet.\n`,
  });
});

t.test('a port that is not a debug port is distinguished from an unreachable one', async t => {
  const { address } = await debugPort(t, 404, 'not found');
  t.match(await explain(address), {
    status: 2,
    stderr: /HTTP status 404 instead of an explanation\. Is it the debug port/,
  });
  t.match(await explain('localhost:1'), {
    status: 2,
    stderr: /no response from localhost:1: .*--debug-address/,
  });
  t.match(await explain('a b'), { status: 2, stderr: /"a b" is not a valid address/ });
});

t.test('a service that does not answer is waited for no longer than asked', async t => {
  const silent = createServer(() => {}).listen(0, 'localhost');
  await once(silent, 'listening');
  t.teardown(() => silent.closeAllConnections());
  t.teardown(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  t.match(await explain(`localhost:${port}`, '--timeout', '20ms'), { status: 2, stderr: /timeout/ });
});

t.test('arguments that make no request are refused with what to write', async t => {
  t.match(await run('explain'), { status: 2, stderr: /--domain is missing/ });
  t.match(await run('explain', 'user=anna'), { status: 2, stderr: /unexpected argument/ });
  t.match(await run('explain', '--help'), { status: 0, stdout: /Nothing\s+is\s+counted/ });
});

const COUNTED = { heldBack: false, refused: false };

t.test('limits that are not plain: what they allow, what they hold, and which of several binds', async t => {
  const common = { hits: 1, isRefund: false, outcome: 'limited', levels: [], why: 'it matches' } as const;
  const shown = { ...LIMIT, shadowMode: false, unit: 'MINUTE', window: '5m' };
  const bucket = { ...shown, name: '', algorithm: 'token_bucket', window: '1m', burst: 20 } as const;
  const month = { ...shown, algorithm: 'fixed_window', window: 'month@15 UTC', name: 'month' } as const;
  const level = 'the bucket holds 0 of 20 tokens, and 5 flow in every 1m';
  const window = { start: '2023-10-15T00:00:00.000Z', end: '2023-11-15T00:00:00.000Z', resetSeconds: 6_400 };
  const drained = {
    key: 'k~1m.bucket',
    level,
    count: { now: 20, after: 20, heldBack: false, refused: true },
  };
  const status = { code: 'OVER_LIMIT', durationUntilReset: '0.450s' };
  const counted = { key: 'k~month', window, count: { now: 5, after: 6, heldBack: false } };
  const old = { ...shown, algorithm: 'sliding_window', name: 'old' } as const;
  const { address } = await debugPort(t, 200, {
    ...EXPLANATION,
    descriptors: [
      {
        ...common,
        entries: [{ key: 'sliding', value: 'x' }],
        limit: { ...shown, algorithm: 'sliding_window' },
        key: 'k',
        window,
        level: '1 hits in this window, and 2 for the 4 hits in the window before',
        count: { now: 3, after: 4, ...COUNTED },
        status: { code: 'OK' },
      },
      {
        ...common,
        entries: [{ key: 'several', value: 'x' }],
        limit: bucket,
        ...drained,
        limits: [
          { limit: bucket, outcome: 'over', binds: true, why: 'it resets last', ...drained },
          { limit: month, outcome: 'within', binds: false, ...counted },
          { limit: old, outcome: 'replaced', binds: false, why: 'another one replaces it' },
        ],
        status,
      },
    ],
  } satisfies Explanation);
  const { stdout } = await explain(address);
  t.equal(
    stdout,
    `OK would be the answer; nothing was counted
sliding=x  OK          5 in any 5m                                              3 used   4 with this request      resets in 1h46m40s
several=x  OVER_LIMIT  5 per 1m, bursts of 20 (1m token_bucket, 1 of 3 limits)  20 used  refused and not counted  resets in 450ms

sliding=x
  why         it matches
  rule        shop.user, named each-user
  key         k
  window      2023-10-15T00:00:00.000Z to 2023-11-15T00:00:00.000Z
  level       1 hits in this window, and 2 for the 4 hits in the window before
  statistics  ratelimit.service.rate_limit.shop.user

several=x
  why  it matches
  1m token_bucket binds: it resets last
    limit       5 per 1m, bursts of 20
    count       20 used, refused and not counted, over the limit
    key         k~1m.bucket
    level       the bucket holds 0 of 20 tokens, and 5 flow in every 1m
    statistics  ratelimit.service.rate_limit.shop.user
  month
    limit       5 per month@15 UTC, named month
    count       5 used, 6 with this request
    key         k~month
    window      2023-10-15T00:00:00.000Z to 2023-11-15T00:00:00.000Z
    statistics  ratelimit.service.rate_limit.shop.user
  old is replaced: another one replaces it
    limit       5 in any 5m, named old
    statistics  ratelimit.service.rate_limit.shop.user
`,
  );
});

t.test('the class of a request is shown with its part of the limit', async t => {
  const shown = async (name: string | null): Promise<string | undefined> => {
    const [first] = EXPLANATION.descriptors;
    const own = { name, share: '60%', most: 6 };
    const { address } = await debugPort(t, 200, { ...EXPLANATION, descriptors: [{ ...first, class: own }] });
    const { stdout } = await explain(address);
    return /^ {2}class +(.*)$/m.exec(stdout)?.[1];
  };
  t.equal(await shown('sheddable'), 'sheddable: may use 60% of the limit, 6 hits');
  t.equal(await shown(null), 'none of the rule: may use 60% of the limit, 6 hits');
});

t.test('a share after the limit is shown with what it means for the request', async t => {
  const shown = async (own: Partial<DescriptorExplanation>): Promise<string | undefined> => {
    const [first] = EXPLANATION.descriptors;
    const limit = { ...LIMIT, afterLimit: '50%' };
    const { address } = await debugPort(t, 200, {
      ...EXPLANATION,
      descriptors: [{ ...first, limit, ...own }],
    });
    const { stdout } = await explain(address);
    return /^ +after limit +(.*)$/m.exec(stdout)?.[1];
  };
  t.equal(await shown({}), '50% of the hits beyond the limit pass');
  const passed = '50% of the hits beyond the limit pass: this request ends with hit 4 beyond it, and passes';
  const beyondLimit = { hits: 4, passes: true };
  t.equal(await shown({ beyondLimit }), passed);
  t.equal(
    await shown({ beyondLimit: { hits: 3, passes: false } }),
    '50% of the hits beyond the limit pass: this request ends with hit 3 beyond it, and does not pass',
  );
  const part = {
    limit: { ...LIMIT, window: '1m', afterLimit: '50%' },
    binds: true,
    outcome: 'within',
  } as const;
  t.equal(await shown({ limits: [{ ...part, beyondLimit }] }), passed, 'also of one of several limits');
});

t.test('leases and a scale are shown with what they mean for calls', async t => {
  type Limit = NonNullable<DescriptorExplanation['limit']>;
  const shown = async (limit: Partial<Limit>): Promise<string> => {
    const [first] = EXPLANATION.descriptors;
    const { address } = await debugPort(t, 200, {
      ...EXPLANATION,
      descriptors: [{ ...first, limit: { ...LIMIT, ...limit } }],
    });
    return (await explain(address)).stdout;
  };
  const common = { forSeconds: 600, holder: 'id', zeroHits: 'extend', overdraft: 'refuse_next' } as const;
  const lease = (fields: Partial<NonNullable<Limit['lease']>>) =>
    shown({ window: '1m', algorithm: 'fixed_window', lease: { mode: 'reserve', ...common, ...fields } });
  t.match(await lease({}), /^ {2}leases +each id holds hits for 10m$/m);
  t.match(
    await lease({ estimate: 5, zeroHits: 'settle', overdraft: 'allow' }),
    'each id holds hits for 10m; 5 without hits; a later call without hits settles them; hits beyond those that were ' +
      'held take no room',
  );
  t.match(await lease({ holder: '', estimate: 5 }), 'each call without hits holds 5 for 10m\n');
  t.match(await lease({ mode: 'once' }), 'of each id, only the first call in 10m counts\n');
  const slots = await lease({ mode: 'concurrency' });
  t.match(slots, '5 at the same time');
  t.match(slots, 'each id holds one, at most for 10m\n');
  t.match(await shown({ scale: 1_000 }), /^ {2}scale +one request of the limit is worth 1000 hits$/m);
});

t.test('what proxies get of a limit is shown', async t => {
  const [first] = EXPLANATION.descriptors;
  const limit = { ...LIMIT, window: '1m', quota: { share: '80%', forSeconds: 90 } };
  const shown = async (own: Partial<DescriptorExplanation>): Promise<string> => {
    const { address } = await debugPort(t, 200, { ...EXPLANATION, descriptors: [{ ...first, ...own }] });
    return (await explain(address)).stdout;
  };
  const row = /^ +quota +proxies get at most 80% of the limit, for 1m30s each time$/m;
  t.match(await shown({ limit }), row);
  t.match(
    await shown({ limits: [{ limit, binds: true, outcome: 'within' }] }),
    row,
    'also of one of several',
  );
});

t.test('what leases hold is shown, and what the request does to them', async t => {
  const shown = async (fields: Partial<NonNullable<DescriptorExplanation['leases']>>): Promise<string> => {
    const [first] = EXPLANATION.descriptors;
    const leases = { spent: 15, held: 30, firstEnds: null, step: 'holds 5 hits for 10m', ...fields };
    const { address } = await debugPort(t, 200, { ...EXPLANATION, descriptors: [{ ...first, leases }] });
    return (await explain(address)).stdout;
  };
  const firstEnds = '2023-11-14T22:20:00.000Z';
  const text = await shown({ count: 2, firstEnds });
  t.match(
    text,
    /^ {2}held +30 held and 15 spent; 2 leases, the first one ends at 2023-11-14T22:20:00.000Z$/m,
  );
  t.match(text, /^ {2}this request +holds 5 hits for 10m$/m);
  t.match(
    await shown({ firstEnds }),
    '30 held and 15 spent; the first one ends at 2023-11-14T22:20:00.000Z\n',
  );
  t.match(await shown({ count: 0, held: 0 }), '0 held and 15 spent; 0 leases\n');
});

t.test('a penalty is shown with what has led to it', async t => {
  const shown = async (penalties: number, penalizedUntil: string | null): Promise<string | undefined> => {
    const [first] = EXPLANATION.descriptors;
    const penalty = { violations: 1, after: 3, penalties, penalizedUntil };
    const { address } = await debugPort(t, 200, { ...EXPLANATION, descriptors: [{ ...first, penalty }] });
    const { stdout } = await explain(address);
    return /^ {2}penalty +(.*)$/m.exec(stdout)?.[1];
  };
  t.equal(await shown(0, null), 'not penalized: 1 of 3 violations');
  t.equal(await shown(1, null), 'not penalized: 1 of 3 violations, 1 penalty so far');
  t.equal(
    await shown(2, '2026-03-01T12:00:00Z'),
    'penalized until 2026-03-01T12:00:00Z: all requests are rejected and not counted, 2 penalties so far',
  );
});
