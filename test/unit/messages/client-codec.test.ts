import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
  type RateLimitResponse,
} from '../../../src/messages/client-codec.ts';
import { WireFault, writeBytes } from '../../../src/messages/wire.ts';
import { repositoryRoot } from '../../support/repository.ts';

/** The independent codec: protobufjs on the same contract. */
const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [join(repositoryRoot(), 'proto')],
  longs: Number,
  enums: Number,
  defaults: true,
});
const service = definition['envoy.service.ratelimit.v3.RateLimitService'] as Record<
  string,
  { responseSerialize(value: object): Buffer; requestDeserialize(bytes: Buffer): object }
>;
const { responseSerialize, requestDeserialize } = service['ShouldRateLimit'];

/** A request as protobufjs shows it. */
function asRead(request: RateLimitRequest): object {
  const descriptors = request.descriptors.map(({ hitsAddend, isNegativeHits = false, ...rest }) => ({
    ...rest,
    isNegativeHits,
    hitsAddend: hitsAddend === null ? null : { value: hitsAddend },
  }));
  return { ...request, descriptors };
}

/** The wire message of plain data, in the form that protobufjs takes. */
function asStruct(object: JsonObject): object {
  return {
    fields: Object.fromEntries(Object.entries(object).map(([name, value]) => [name, asValue(value)])),
  };
}

function asValue(value: JsonValue): object {
  if (value === null) return { nullValue: 0 };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(asValue) } };
  return { structValue: asStruct(value as JsonObject) };
}

function asMessage(response: RateLimitResponse): object {
  return {
    ...response,
    rawBody: Buffer.from(response.rawBody),
    statuses: response.statuses.map(status => ({
      ...status,
      durationUntilReset:
        status.durationUntilReset === null ? null : { seconds: status.durationUntilReset, nanos: 0 },
    })),
    dynamicMetadata: response.dynamicMetadata === null ? null : asStruct(response.dynamicMetadata),
  };
}

/** Repeatable draws (mulberry32). */
class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 to `below` - 1. */
  number(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.number(choices.length)];
  }

  list<T>(atMost: number, make: () => T): T[] {
    return Array.from({ length: this.number(atMost + 1) }, make);
  }

  text(): string {
    return this.list(40, () => this.pick(['a', 'Z', '0', '_', '*', ' ', '\u0000', 'é', '界', '🚦'])).join('');
  }

  uint32(): number {
    return this.pick([0, 1, 127, 128, 16_384, 2 ** 31, 2 ** 32 - 1, this.number(2 ** 32)]);
  }

  optional<T>(make: () => T): T | null {
    return this.number(2) === 0 ? null : make();
  }

  struct(depth: number): JsonObject {
    return Object.fromEntries(this.list(4, () => [this.text(), this.value(depth)]));
  }

  value(depth: number): JsonValue {
    const kind = this.number(depth > 0 ? 6 : 4);
    if (kind === 0) return null;
    if (kind === 1) return this.pick([0, -1.5, 1e300, 2 ** 53, Number.MIN_VALUE]);
    if (kind === 2) return this.text();
    if (kind === 3) return this.number(2) === 0;
    return kind === 4 ? this.struct(depth - 1) : this.list(3, () => this.value(depth - 1));
  }

  request(): RateLimitRequest {
    return {
      domain: this.text(),
      descriptors: this.list(4, () => ({
        entries: this.list(3, () => ({ key: this.text(), value: this.text() })),
        limit: this.optional(() => ({ requestsPerUnit: this.uint32(), unit: this.number(8) })),
        hitsAddend: this.optional(() => this.pick([0, this.uint32(), 2 ** 53 - 1])),
        isNegativeHits: this.number(2) === 0,
      })),
      hitsAddend: this.uint32(),
    };
  }

  response(): RateLimitResponse {
    return {
      overallCode: this.number(3),
      statuses: this.list(4, () => ({
        code: this.number(3),
        currentLimit: this.optional(() => ({
          name: this.text(),
          requestsPerUnit: this.uint32(),
          unit: this.number(8),
        })),
        limitRemaining: this.uint32(),
        durationUntilReset: this.optional(() => this.uint32()),
      })),
      responseHeadersToAdd: this.list(3, () => ({ key: this.text(), value: this.text() })),
      rawBody: this.text(),
      dynamicMetadata: this.optional(() => this.struct(3)),
    };
  }
}

const EMPTY_RESPONSE: RateLimitResponse = {
  overallCode: 0,
  statuses: [],
  responseHeadersToAdd: [],
  rawBody: '',
  dynamicMetadata: null,
};

function read(request: RateLimitRequest): object {
  return requestDeserialize(Buffer.from(encodeRateLimitRequest(request)));
}

function written(message: object): Uint8Array {
  return responseSerialize(message);
}

t.test('an encoded request reads the same in an independent codec', async t => {
  for (let seed = 1; seed <= 300; seed++) {
    const request = new Draws(seed).request();
    t.same(read(request), asRead(request), `seed ${seed}`);
  }
});

t.test("a descriptor's hits of 0 are on the wire, and absent ones are not", async t => {
  const encoded = (hitsAddend: number | null) =>
    encodeRateLimitRequest({
      domain: '',
      descriptors: [{ entries: [], limit: null, hitsAddend }],
      hitsAddend: 0,
    });
  t.same([...encoded(null)], [0x12, 0]);
  t.same([...encoded(0)], [0x12, 2, 0x1a, 0]);
});

t.test('a response of an independent codec decodes to what it says', async t => {
  for (let seed = 1; seed <= 300; seed++) {
    const response = new Draws(seed).response();
    t.strictSame(decodeRateLimitResponse(written(asMessage(response))), response, `seed ${seed}`);
  }
});

t.test('an empty message is a response with every field at its default', async t => {
  t.strictSame(decodeRateLimitResponse(new Uint8Array(0)), EMPTY_RESPONSE);
});

t.test('fields that rate limit services do not fill are passed over', async t => {
  const quota = { requests: 3, validUntil: { seconds: 5, nanos: 6 }, id: 'q' };
  const bytes = written({
    overallCode: 1,
    statuses: [{ code: 1, quota, durationUntilReset: { seconds: 9, nanos: 500_000_000 } }],
    responseHeadersToAdd: [{ key: 'h', rawValue: Buffer.from('raw') }],
    requestHeadersToAdd: [{ key: 'x', value: 'y' }],
    rawBody: Buffer.from('body'),
    quota,
  });
  t.strictSame(decodeRateLimitResponse(bytes), {
    overallCode: 1,
    statuses: [{ code: 1, currentLimit: null, limitRemaining: 0, durationUntilReset: 9.5 }],
    responseHeadersToAdd: [{ key: 'h', value: '' }],
    rawBody: 'body',
    dynamicMetadata: null,
  });
});

t.test('a metadata field named __proto__ is data like any other', async t => {
  const fields = Object.fromEntries([['__proto__', { boolValue: true }]]);
  const decoded = decodeRateLimitResponse(written({ dynamicMetadata: { fields } }));
  t.equal(JSON.stringify(decoded.dynamicMetadata), '{"__proto__":true}');
});

t.test('a response cut off anywhere is refused as such or reads as a shorter one', async t => {
  const bytes = written(asMessage(new Draws(7).response()));
  let refused = 0;
  for (let length = 0; length < bytes.length; length++) {
    try {
      decodeRateLimitResponse(bytes.subarray(0, length));
    } catch (failure) {
      if (!(failure instanceof WireFault)) throw failure;
      refused++;
    }
  }
  t.ok(refused > bytes.length / 2, `${refused} of ${bytes.length} refused`);
});

t.test('metadata nested beyond the bound is refused before the stack runs out', async t => {
  // Written by hand: the independent codec refuses such a depth itself.
  const inField = (field: number, content: Uint8Array) => {
    const writer = new ByteWriter();
    writeBytes(writer, field, content);
    return writer.take();
  };
  const nested = (levels: number) => {
    let value: Uint8Array = new Uint8Array(0);
    for (let level = 1; level < levels; level++) value = inField(6, inField(1, value));
    return inField(6, inField(1, inField(2, value)));
  };
  t.ok(decodeRateLimitResponse(nested(100)).dynamicMetadata);
  t.throws(() => decodeRateLimitResponse(nested(101)), {
    name: 'WireFault',
    message: /more than 100 levels deep/,
  });
});

t.test('a number in metadata that is not a double is refused with its position', async t => {
  const bytes = Buffer.from(written({ dynamicMetadata: asStruct({ n: 1 }) }));
  // Tag of number_value (field 2, fixed64) turned into field 2, fixed32.
  bytes[bytes.indexOf(0x11)] = 0x15;
  t.throws(() => decodeRateLimitResponse(bytes), { message: /field 2 has wire type 5, not 1 at byte \d+/ });
});
