import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import t from 'tap';
import { decodeDecision } from '../../../../clients/limit/src/decision.ts';
import { encodeRequest, type LimitRequest } from '../../../../clients/limit/src/request.ts';
import { repositoryRoot } from '../../../support/repository.ts';

/** The independent codec: protobufjs on the same contract. */
const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [join(repositoryRoot(), 'proto')],
  longs: Number,
  enums: String,
});
const { responseSerialize, requestDeserialize } = (
  definition['envoy.service.ratelimit.v3.RateLimitService'] as unknown as Record<
    string,
    { responseSerialize(value: object): Buffer; requestDeserialize(bytes: Buffer): unknown }
  >
)['ShouldRateLimit'];

/** What a request says, after the prefix of the gRPC message. */
function asRead(request: LimitRequest): unknown {
  const bytes = encodeRequest(request);
  t.equal(bytes[0], 0);
  t.equal(bytes.readUInt32BE(1), bytes.length - 5);
  return JSON.parse(JSON.stringify(requestDeserialize(bytes.subarray(5))));
}

t.test('an independent codec reads the same request', async t => {
  t.same(asRead({ domain: 'd', descriptors: [{ entries: { user: 'ann' } }] }), {
    domain: 'd',
    descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }],
    hitsAddend: 1,
  });
  const long = '界'.repeat(700);
  t.same(
    asRead({
      domain: long,
      hits: 2 ** 32 - 1,
      descriptors: [
        {
          entries: [
            ['path', '/a'],
            ['path', long],
          ],
          hits: 0,
        },
        { entries: { b: '', a: '🚦' }, hits: 2 ** 53 - 1, isRefund: true },
        { entries: {}, limit: { requestsPerUnit: 300, unit: 'YEAR' } },
      ],
    }),
    {
      domain: long,
      hitsAddend: 2 ** 32 - 1,
      descriptors: [
        {
          entries: [
            { key: 'path', value: '/a' },
            { key: 'path', value: long },
          ],
          hitsAddend: { value: 0 },
        },
        {
          entries: [
            { key: 'b', value: '' },
            { key: 'a', value: '🚦' },
          ],
          hitsAddend: { value: 2 ** 53 - 1 },
          isNegativeHits: true,
        },
        { limit: { requestsPerUnit: 300, unit: 'YEAR' } },
      ],
    },
  );
  for (const length of [1, 100, 127, 128, 1_000, 16_383, 16_384, 100_000]) {
    const value = 'x'.repeat(length);
    t.match(asRead({ domain: 'd', descriptors: [{ entries: { value } }] }), {
      descriptors: [{ entries: [{ value }] }],
    });
  }
});

t.test('a request with 0 hits only reads the limits of its descriptors', async t => {
  const entries = { user: 'ann' };
  const read = asRead({ domain: 'd', hits: 0, descriptors: [{ entries }, { entries, hits: 3 }] });
  // The service takes 0 in the request for a field that is not set, which is one hit.
  t.match(read, { descriptors: [{ hitsAddend: { value: 0 } }, { hitsAddend: { value: 3 } }] });
});

t.test('a request with a part of the wrong type is not encoded, and the error says which part', async t => {
  const wrong: readonly [LimitRequest, RegExp][] = [
    [{ domain: 7 as never, descriptors: [] }, /: domain must be a text, not number\./],
    [
      { domain: 'd', descriptors: [{ entries: { user: undefined as never } }] },
      /: descriptors\[0\]\.entries\.user must be a text, not undefined\./,
    ],
    [
      { domain: 'd', descriptors: [{ entries: {} }, { entries: {}, hits: -1 }] },
      /: descriptors\[1\]\.hits must be a whole number from 0 to 9007199254740991\./,
    ],
    [{ domain: 'd', descriptors: [], hits: 2 ** 32 }, /: hits must be a whole number from 0 to 4294967295\./],
    [
      { domain: 'd', descriptors: [{ entries: {}, limit: { requestsPerUnit: 1, unit: 'day' as never } }] },
      /: descriptors\[0\]\.limit\.unit must be a known unit\./,
    ],
    [
      { domain: 'd', descriptors: [{ entries: {}, lease: { id: 'a', action: 'hold' as never } }] },
      /: descriptors\[0\]\.lease\.action must be a known action\./,
    ],
  ];
  for (const [request, message] of wrong)
    t.throws(() => encodeRequest(request), { name: 'NoDecision', code: 'invalid_request', message });
  t.match(asRead({ domain: 'd', descriptors: [] }), { domain: 'd' }, 'nothing is left of the wrong ones');
});

const minute = (requestsPerUnit: number, name = '') => ({ requestsPerUnit, unit: 'MINUTE', name });

t.test('a decision has what the response says', async t => {
  const bytes = responseSerialize({
    overallCode: 'OVER_LIMIT',
    statuses: [
      { code: 'OK', currentLimit: minute(5, 'burst'), limitRemaining: 3, durationUntilReset: { seconds: 7 } },
      {
        code: 'OVER_LIMIT',
        currentLimit: { requestsPerUnit: 2 ** 32 - 1, unit: 'WEEK' },
        durationUntilReset: { seconds: 100_000, nanos: 250_000_000 },
      },
      { code: 'OK' },
    ],
    responseHeadersToAdd: [
      { key: 'X-Limit', value: '5' },
      { key: 'x-limit', value: '' },
    ],
    requestHeadersToAdd: [{ key: 'x-other', value: '1' }],
    rawBody: Buffer.from('{"a":"é"}'),
    dynamicMetadata: { fields: { a: { listValue: { values: [{ numberValue: 1 }] } } } },
  });
  t.same(decodeDecision(bytes), {
    allowed: false,
    failed: false,
    limit: 2 ** 32 - 1,
    remaining: 0,
    resetS: 100_000.25,
    retryAfterS: 100_001,
    headers: [
      ['x-limit', '5'],
      ['x-limit', ''],
    ],
    body: '{"a":"é"}',
    statuses: [
      { code: 'OK', limit: { name: 'burst', requestsPerUnit: 5, unit: 'MINUTE' }, remaining: 3, resetS: 7 },
      {
        code: 'OVER_LIMIT',
        limit: { name: '', requestsPerUnit: 2 ** 32 - 1, unit: 'WEEK' },
        remaining: 0,
        resetS: 100_000.25,
      },
      { code: 'OK', limit: null, remaining: 0, resetS: null },
    ],
  });
});

t.test('the limit with the smallest share left decides what an allowed request sees', async t => {
  const of = (...limits: readonly (readonly [limit: number, remaining: number])[]) =>
    decodeDecision(
      responseSerialize({
        overallCode: 'OK',
        statuses: [
          { code: 'OK', limitRemaining: 0 },
          ...limits.map(([limit, limitRemaining]) => ({
            code: 'OK',
            currentLimit: minute(limit),
            limitRemaining,
            durationUntilReset: { seconds: limit },
          })),
        ],
      }),
    );
  t.match(of([100, 50], [1_000, 60], [10, 9]), { allowed: true, limit: 1_000, remaining: 60, resetS: 1_000 });
  t.match(of([100, 1], [0, 0]), { limit: 0, remaining: 0, retryAfterS: null });
  t.match(of(), { allowed: true, limit: null, remaining: null, resetS: null });
});

t.test(
  'a rejected request waits for the exceeded limit that resets last, unless the service says else',
  async t => {
    const over = (seconds: number) => ({
      code: 'OVER_LIMIT',
      currentLimit: minute(seconds),
      durationUntilReset: { seconds },
    });
    const of = (...responseHeadersToAdd: readonly object[]) =>
      decodeDecision(
        responseSerialize({
          overallCode: 'OVER_LIMIT',
          statuses: [over(30), over(50), over(40), { ...over(60), code: 'OK' }],
          responseHeadersToAdd,
        }),
      );
    t.match(of(), { limit: 50, resetS: 50, retryAfterS: 50 });
    t.match(of({ key: 'Retry-After', value: '30' }), { limit: 50, retryAfterS: 30 });
    t.match(of({ key: 'retry-after', value: 'soon' }), { retryAfterS: 50 });
    const withoutLimit = responseSerialize({ overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT' }] });
    t.match(decodeDecision(withoutLimit), { limit: null, remaining: null, retryAfterS: 1 });
  },
);

t.test('only OVER_LIMIT rejects, and unknown values are no errors', async t => {
  t.match(decodeDecision(Buffer.alloc(0)), { allowed: true, statuses: [] });
  t.match(decodeDecision(responseSerialize({ overallCode: 'UNKNOWN' })), { allowed: true });
  // Code 9, and a status with code 9 and unit 99.
  const bytes = Buffer.from('0809' + '1208' + '0809' + '1204' + '0805' + '1063', 'hex');
  t.match(decodeDecision(bytes), {
    allowed: true,
    statuses: [{ code: 'UNKNOWN', limit: { requestsPerUnit: 5, unit: 'UNKNOWN' } }],
  });
});

t.test('headers that no response can have are left out', async t => {
  const responseHeadersToAdd = [
    { key: 'x-good', value: 'é' },
    { key: ':status', value: '200' },
    { key: 'x bad', value: '1' },
    { key: '', value: '1' },
    { key: 'x-line', value: '1\r\nset-cookie: a' },
    { key: 'x-wide', value: '界' },
  ];
  t.same(decodeDecision(responseSerialize({ responseHeadersToAdd })).headers, [['x-good', 'é']]);
});

t.test('bytes that are no response are an error', async t => {
  const whole = responseSerialize({
    overallCode: 'OK',
    statuses: [{ code: 'OK', currentLimit: minute(5, 'name'), durationUntilReset: { seconds: 300 } }],
  });
  // Cut at the end of a field, the rest is a shorter response.
  const ends = new Set([0, 2]);
  for (let length = 0; length < whole.length; length++) {
    if (ends.has(length)) continue;
    t.throws(() => decodeDecision(whole.subarray(0, length)), { code: 'error_answer' }, `${length} bytes`);
  }
  for (const hex of ['0a00', '1001', '0b', '0d01', '09', 'ff'.repeat(11), '3a05'])
    t.throws(() => decodeDecision(Buffer.from(hex, 'hex')), { code: 'error_answer' }, hex);
  const skipped = `7d0000000079${'00'.repeat(8)}0802`;
  t.match(decodeDecision(Buffer.from(skipped, 'hex')), { allowed: false }, 'fields of other types');
});
