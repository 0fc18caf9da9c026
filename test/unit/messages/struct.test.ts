import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { decodeRateLimitResponse } from '../../../src/messages/client-codec.ts';
import { writeStruct } from '../../../src/messages/struct.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { metadataIndependently } from './independent-codec.ts';
import { message } from './wire-bytes.ts';

/** A response whose `dynamic_metadata` is the map. */
function responseWith(map: JsonObject): Buffer {
  const struct = new ByteWriter(1);
  writeStruct(struct, map);
  return message(6, struct.view());
}

/** The map of a response, as protobufjs reads it, as plain data. */
function readBack(map: JsonObject): unknown {
  return plainMap(metadataIndependently(responseWith(map)) as LoadedMap);
}

interface LoadedMap {
  readonly fields: Readonly<Record<string, LoadedValue>>;
}
interface LoadedValue {
  readonly kind: 'nullValue' | 'numberValue' | 'stringValue' | 'boolValue' | 'structValue' | 'listValue';
  readonly [kind: string]: unknown;
}

function plainMap(map: LoadedMap): object {
  return Object.fromEntries(Object.entries(map.fields).map(([name, value]) => [name, plainValue(value)]));
}

function plainValue(value: LoadedValue): unknown {
  if (value.kind === 'nullValue') return null;
  if (value.kind === 'structValue') return plainMap(value[value.kind] as LoadedMap);
  if (value.kind !== 'listValue') return value[value.kind];
  return (value[value.kind] as { readonly values: readonly LoadedValue[] }).values.map(plainValue);
}

const SCALARS: readonly JsonValue[] = [
  null,
  true,
  false,
  '',
  'text',
  'ü日😀\u0000',
  'x'.repeat(300),
  0,
  1,
  -1,
  1.5,
  -2.5e-300,
  1e308,
  2 ** 53,
  Number.MIN_VALUE,
];

function randomValue(random: SeededRandom, depth: number): JsonValue {
  const shape = depth === 0 ? 2 : random.below(4);
  if (shape === 0) return randomMap(random, depth - 1);
  if (shape === 1) return Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
  return random.pick(SCALARS);
}

function randomMap(random: SeededRandom, depth: number): JsonObject {
  const names = ['', 'a', 'b', '10', '9', 'ü', 'constructor', 'x'.repeat(200)];
  return Object.fromEntries(
    names.filter(() => random.below(3) === 0).map(name => [name, randomValue(random, depth)]),
  );
}

t.test('each kind of value is written as its field', async t => {
  for (const value of SCALARS) t.strictSame(readBack({ value }), { value }, JSON.stringify(value));
  const nested = { list: [[], [null, [1, 'x']], {}], map: {}, deep: { er: { still: [true] } } };
  t.strictSame(readBack(nested), nested);
});

t.test('an empty map is an empty message', async t => {
  t.equal(responseWith({}).toString('hex'), message(6).toString('hex'));
  t.strictSame(readBack({}), {});
});

t.test('numbers keep their bits', async t => {
  for (const value of [-0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 0.1 + 0.2]) {
    const { value: read } = readBack({ value }) as { value: number };
    t.ok(Object.is(read, value), String(value));
  }
});

t.test('random maps are read back by protobufjs and by the client', async t => {
  const random = new SeededRandom(17);
  for (let i = 0; i < 500; i++) {
    const map = randomMap(random, 4);
    const expected = JSON.stringify(map);
    if (JSON.stringify(readBack(map)) !== expected) t.strictSame(readBack(map), map, expected);
    const { dynamicMetadata } = decodeRateLimitResponse(responseWith(map));
    if (JSON.stringify(dynamicMetadata) !== expected) t.strictSame(dynamicMetadata, map, expected);
  }
});

t.test('a name that means something to JavaScript is a name like any other', async t => {
  const map = JSON.parse('{"__proto__":{"x":1},"toString":"s"}') as JsonObject;
  const { dynamicMetadata } = decodeRateLimitResponse(responseWith(map));
  t.equal(JSON.stringify(dynamicMetadata), JSON.stringify(map));
});

t.test('what is written is put behind what is there', async t => {
  const to = new ByteWriter(1);
  writeStruct(to, { a: 1 });
  const first = to.take();
  writeStruct(to, { b: [2] });
  const both = plainMap(metadataIndependently(message(6, to.view())) as LoadedMap);
  t.strictSame(both, { a: 1, b: [2] });
  t.strictSame(to.take().subarray(0, first.length), first);
});
