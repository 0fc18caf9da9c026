import { NoDecision } from './no-decision.ts';
import { UNITS, type Unit } from './units.ts';
import { BackwardWriter } from './wire.ts';

/** What Sluice decides about. */
export interface LimitRequest {
  /** The domain of the rules. */
  readonly domain: string;
  /** If one of them is over its limit, the request is over its limit. */
  readonly descriptors: readonly Descriptor[];
  /** Hits of each descriptor without `hits` of its own. 0 reads the limits without counting. Default: 1. */
  readonly hits?: number;
}

/** Keys and values that are matched to a rule, such as the user, and what to count. */
export interface Descriptor {
  /**
   * The keys and values in the order of the rules: `{ path: '/api', user: 'ann' }`. If a key is repeated or is a whole
   * number, use pairs: `[['path', '/api'], ['user', 'ann']]`.
   */
  readonly entries: Readonly<Record<string, string>> | readonly (readonly [key: string, value: string])[];
  /** Hits to count. 0 reads the limit without counting. */
  readonly hits?: number;
  /** Whether the hits are given back. */
  readonly isRefund?: boolean;
  /** A limit that replaces that of the rules. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: Unit };
  /** What the call says about the lease of a holder, for rules with `reserve` or `concurrency`. */
  readonly lease?: { readonly id: string; readonly action: LeaseAction };
}

/** By name the number of an action in `sluice.v1.Lease`. */
const LEASE_ACTIONS = { reserve: 1, settle: 2, release: 3, extend: 4 } as const;

export type LeaseAction = keyof typeof LEASE_ACTIONS;

const MAX_UINT32 = 2 ** 32 - 1;

/** Encodes one request at a time. */
const writer = new BackwardWriter();

/**
 * Encodes a request as a gRPC message with an `envoy.service.ratelimit.v3.RateLimitRequest`.
 *
 * @throws NoDecision if a part of the request has the wrong type or range
 */
export function encodeRequest({ domain, descriptors, hits = 1 }: LimitRequest): Buffer {
  writer.clear();
  writer.uint(3, checkedNumber(hits, MAX_UINT32, 'hits'));
  // In the request, the service takes 0 for a field that is not set, which is one hit. Descriptors can say 0.
  const ofEach = hits === 0 ? 0 : undefined;
  for (let at = descriptors.length - 1; at >= 0; at--) {
    const before = writer.length;
    writeDescriptor(descriptors[at], ofEach, `descriptors[${at}]`);
    writer.nested(2, before);
  }
  writer.text(1, checkedText(domain, 'domain'));
  return writer.takeMessage();
}

/**
 * @param ofEach hits of a descriptor without `hits` of its own; undefined for those of the request
 * @param place where the descriptor is, for errors
 */
function writeDescriptor(descriptor: Descriptor, ofEach: number | undefined, place: string): void {
  const { entries, hits = ofEach, isRefund, limit, lease } = descriptor;
  if (lease !== undefined) {
    const before = writer.length;
    writer.uint(2, LEASE_ACTIONS[lease.action] ?? invalid(`${place}.lease.action`, 'a known action'));
    writer.text(1, checkedText(lease.id, `${place}.lease.id`));
    writer.nested(1_000, before);
  }
  if (isRefund === true) writer.uint(4, 1);
  if (hits !== undefined) {
    const before = writer.length;
    writer.uint(1, checkedNumber(hits, Number.MAX_SAFE_INTEGER, `${place}.hits`));
    writer.nested(3, before);
  }
  if (limit !== undefined) {
    const before = writer.length;
    const unit = UNITS.indexOf(limit.unit);
    writer.uint(2, unit > 0 ? unit : invalid(`${place}.limit.unit`, 'a known unit'));
    writer.uint(1, checkedNumber(limit.requestsPerUnit, MAX_UINT32, `${place}.limit.requestsPerUnit`));
    writer.nested(2, before);
  }
  const pairs = Array.isArray(entries) ? entries : Object.entries(entries);
  for (let at = pairs.length - 1; at >= 0; at--) {
    const before = writer.length;
    const [key, value] = pairs[at];
    writer.text(2, checkedText(value, `${place}.entries.${key}`));
    writer.text(1, checkedText(key, `a key of ${place}.entries`));
    writer.nested(1, before);
  }
}

function checkedText(value: unknown, place: string): string {
  return typeof value === 'string' ? value : invalid(place, `a text, not ${typeof value}`);
}

function checkedNumber(value: number, max: number, place: string): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  return invalid(place, `a whole number from 0 to ${max}`);
}

function invalid(place: string, expected: string): never {
  throw new NoDecision('invalid_request', `The request was not sent: ${place} must be ${expected}.`);
}
