import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import { repositoryRoot } from '../../support/repository.ts';

/**
 * What `jsonToRequest` must agree with, built from other people's parts: JSON.parse for the document, protobufjs for
 * the wire form, BigInt for the numbers. It follows the proto3 JSON mapping field by field and cares for nothing else.
 */

const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [join(repositoryRoot(), 'proto')],
  longs: String,
  enums: Number,
  defaults: true,
});
const service = definition['envoy.service.ratelimit.v3.RateLimitService'] as Record<
  string,
  { requestSerialize(value: object): Buffer; requestDeserialize(bytes: Buffer): object }
>;
const { requestSerialize, requestDeserialize } = service['ShouldRateLimit'];

/** The request that `bytes` hold, as protobufjs reads it: every field present, absent messages null. */
export function decodedRequest(bytes: Uint8Array): object {
  return requestDeserialize(Buffer.from(bytes));
}

/** The request that a JSON document holds, through protobufjs and back; throws when the mapping refuses it. */
export function modelledRequest(body: Uint8Array): object {
  return requestDeserialize(requestSerialize(request(parsed(body)) as object));
}

/** A number as the document writes it: JSON.parse alone would round it. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function parsed(body: Uint8Array): unknown {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  const document: unknown = JSON.parse(text, (_name, value, context?: { source: string }) =>
    typeof value === 'number' ? new NumberText(context?.source ?? '') : value,
  );
  // JSON.parse keeps the last of two fields with one name; the text still has both.
  const written = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs)].filter(match => match[1] !== undefined);
  if (written.length !== memberCount(document)) throw new Error('a name stands twice in an object');
  return document;
}

function memberCount(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof NumberText) return 0;
  const members = Object.values(value);
  return members.reduce<number>(
    (count, member) => count + memberCount(member),
    Array.isArray(value) ? 0 : members.length,
  );
}

type Read = (value: unknown) => unknown;

/** Reads an object; `fields` by their lowerCamelCase names, which gives the other spelling too. */
function message(fields: Record<string, Read>): Read {
  const names = new Map<string, string>();
  for (const name of Object.keys(fields)) {
    names.set(name, name);
    names.set(
      name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      name,
    );
  }
  return value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof NumberText) {
      throw new Error('no object');
    }
    const seen = new Set<string>();
    const read: Record<string, unknown> = {};
    for (const [spelling, member] of Object.entries(value)) {
      const name = names.get(spelling);
      if (name === undefined || seen.has(name)) throw new Error(`the field ${spelling}`);
      seen.add(name);
      if (member !== null) read[name] = fields[name](member);
    }
    return read;
  };
}

function list(item: Read): Read {
  return value => {
    if (!Array.isArray(value)) throw new Error('no array');
    return value.map(item);
  };
}

function text(value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) throw new Error('no text');
  return value;
}

/** Reads a whole number from `min` to `max`; as text, so that 64 bits survive. */
function integer(min: bigint, max: bigint, quoted: boolean): Read {
  return value => {
    const source =
      value instanceof NumberText ? value.text : quoted && typeof value === 'string' ? value : '';
    const parts = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
    if (parts === null) throw new Error('no number');
    const digits = BigInt(parts[2] + (parts[3] ?? ''));
    const scale = Number(parts[4] ?? 0) - (parts[3] ?? '').length;
    if (digits === 0n) return '0';
    if (Math.abs(scale) > 500) throw new Error('far out of range');
    const unit = 10n ** BigInt(Math.abs(scale));
    if (scale < 0 && digits % unit !== 0n) throw new Error('not whole');
    const exact = (scale < 0 ? digits / unit : digits * unit) * (parts[1] === '-' ? -1n : 1n);
    if (exact < min || exact > max) throw new Error('out of range');
    return exact.toString();
  };
}

const bool: Read = value => {
  if (typeof value !== 'boolean') throw new Error('no bool');
  return value;
};
const uint32: Read = value => Number(integer(0n, 2n ** 32n - 1n, true)(value));
const uint64Value: Read = value => ({ value: integer(0n, 2n ** 64n - 1n, true)(value) });
const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR'];

const unit: Read = value => {
  if (typeof value !== 'string') return Number(integer(-(2n ** 31n), 2n ** 31n - 1n, false)(value));
  if (!UNITS.includes(value)) throw new Error('no unit');
  return UNITS.indexOf(value);
};

const request = message({
  domain: text,
  descriptors: list(
    message({
      entries: list(message({ key: text, value: text })),
      limit: message({ requestsPerUnit: uint32, unit }),
      hitsAddend: uint64Value,
      isNegativeHits: bool,
    }),
  ),
  hitsAddend: uint32,
});
