import { createHash } from 'node:crypto';
import { withoutPlace } from '../../../clients/redis/errors.ts';
import { MsgpackReader } from '../../../clients/redis/msgpack-reader.ts';
import { encodedWords } from './command-writer.ts';

/**
 * The scripts that count in Redis. Unlike a pipeline of INCRBY and EXPIRE, a script is one command to parse, has one reply
 * to read and is atomic. A key that Redis cannot count (wrong type, overflow) gets no number; the other keys are counted.
 *
 * The time to live is set when a key is created. Setting it on every increment costs Redis a third more. Keys that a
 * counter of a shorter window may have created are listed at the end of ARGV; if such a key would expire too early, its
 * time to live is set again.
 *
 * A reply is an array of numbers (false for none) and, at the end, the text of the first error or false. It is packed as
 * MessagePack in one string, or a plain array if Redis has no MessagePack library.
 */

/** Maximum difference between the clocks of the processes that count in one Redis. */
export const CLOCK_SKEW_S = 60;

export const PACKED_REPLY = `local packed, reply = pcall(function() return cmsgpack.pack(results) end)
if packed then return reply end
return results
`;

/**
 * Adds to each key.
 *
 *     KEYS    counters
 *     ARGV    for each key: amount, seconds to live; then for each key that may be shared: its index (from 1), its
 *             minimum seconds to live
 *     returns for each key the count afterwards; then the first error
 */
const INCREMENT_SCRIPT = `local results = {}
local failure = false
local keys = #KEYS
for i = 1, keys do
  local amount = ARGV[2 * i - 1]
  local count = redis.pcall('INCRBY', KEYS[i], amount)
  if type(count) == 'number' then
    if count == tonumber(amount) then redis.call('EXPIRE', KEYS[i], ARGV[2 * i]) end
    results[i] = count
  else
    results[i] = false
    failure = failure or count.err
  end
end
for at = 2 * keys + 1, #ARGV, 2 do
  local i = tonumber(ARGV[at])
  if results[i] and redis.call('TTL', KEYS[i]) < tonumber(ARGV[at + 1]) then
    redis.call('EXPIRE', KEYS[i], ARGV[2 * i])
  end
end
results[keys + 1] = failure
${PACKED_REPLY}`;

/**
 * The channel on which keys are published whose counts were lowered by a refund. Processes whose local cache has such a
 * key as over its limit ask Redis again.
 */
export const REFUNDS_CHANNEL = 'sluice:refunds';

/** `pcall`, because the user may lack the permission to publish. The refund counts anyway. */
export const TELL = `redis.pcall('PUBLISH', '${REFUNDS_CHANNEL}', KEYS[i])`;

/**
 * Applies refunds and additions to the first keys. Needs `results` and `failure`, and leaves the counts before in the
 * former.
 *
 * @param keys the number of these keys in Lua
 */
export function refundAndAdd(keys: string): string {
  return `for i = 1, ${keys} do
  local at = 5 * i - 4
  local refund = tonumber(ARGV[at])
  local amount = tonumber(ARGV[at + 1])
  local opens = ARGV[at + 2] == '1'
  local before = false
  local fresh = false
  local err = nil
  if refund == 0 and opens then
    local count = redis.pcall('INCRBY', KEYS[i], ARGV[at + 1])
    if type(count) == 'number' then
      before = count - amount
      fresh = count == amount
    else
      err = count.err
    end
  else
    local text = redis.pcall('GET', KEYS[i])
    if not text then
      before = 0
      fresh = opens
    elseif type(text) == 'string' and string.find(text, '^-?%d+$') then
      before = tonumber(text)
    else
      err = text.err or 'ERR value is not an integer or out of range'
    end
    local taken = before and math.min(refund, math.max(before, 0)) or 0
    if before and (fresh or amount ~= taken) then
      local count = redis.pcall('INCRBY', KEYS[i], string.format('%.0f', amount - taken))
      if type(count) ~= 'number' then
        before = false
        err = count.err
      end
    end
    if before and taken > 0 then ${TELL} end
  end
  if before and opens then
    local least = tonumber(ARGV[at + 4])
    if fresh or (least > 0 and redis.call('TTL', KEYS[i]) < least) then
      redis.call('EXPIRE', KEYS[i], ARGV[at + 3])
    end
  end
  results[i] = before
  failure = failure or err or false
end
`;
}

/**
 * Adds to and subtracts from each key. A refund lowers the count to at least 0 and does not change the time to live. A
 * missing key is created for hits only. A key without a refund costs as much as in the script above.
 *
 *     KEYS    counters
 *     ARGV    for each key: refund, amount, 1 if there is an increment (also of 0), else 0, seconds to live, minimum seconds
 *             to live (0 if the key is not shared)
 *     returns for each key the count before; then the first error
 */
export const REFUND_SCRIPT = `local results = {}
local failure = false
${refundAndAdd('#KEYS')}results[#KEYS + 1] = failure
${PACKED_REPLY}`;

/**
 * Counts requests that stop counting when over limit. Reads all counters of a request. If some of them would exceed their
 * limit, only those are incremented, and the hits of the others are held back. Refunds of a request are applied before its
 * hits and are never held back.
 *
 *     KEYS    counters
 *     ARGV    for each key: seconds to live, minimum seconds to live (0 if the key is not shared); then for each request:
 *             1 if none of its hits are added, else 0, the number of its ops, and for each op: index of its key (from
 *             1), hits, limit (`1e999` for none), or `-` if the hits are a refund
 *     returns for each op: the count afterwards; 1 if its hits were held back, else 0; then the first error
 */
const HOLD_BACK_SCRIPT = `local counts = {}
local change = {}
local fresh = {}
local opens = {}
local lowered = {}
local failure = false
for i = 1, #KEYS do
  local text = redis.pcall('GET', KEYS[i])
  if not text then
    counts[i] = 0
    fresh[i] = true
  elseif type(text) == 'string' and string.find(text, '^-?%d+$') then
    counts[i] = tonumber(text)
  else
    counts[i] = false
    failure = failure or text.err or 'ERR value is not an integer or out of range'
  end
  change[i] = 0
end
local results = {}
local keys = {}
local at = 2 * #KEYS + 1
while at <= #ARGV do
  local hold = ARGV[at] == '1'
  local ops = tonumber(ARGV[at + 1])
  at = at + 2
  local full = {}
  local any = hold
  local after = {}
  for op = 0, ops - 1 do
    local key = tonumber(ARGV[at + 3 * op])
    if ARGV[at + 3 * op + 2] == '-' and counts[key] then
      local taken = math.min(tonumber(ARGV[at + 3 * op + 1]), math.max(counts[key], 0))
      counts[key] = counts[key] - taken
      change[key] = change[key] - taken
      lowered[key] = lowered[key] or taken > 0
      after[op] = counts[key]
    end
  end
  for op = 0, ops - 1 do
    local count = counts[tonumber(ARGV[at + 3 * op])]
    local limit = tonumber(ARGV[at + 3 * op + 2])
    if limit and not hold and count and count + tonumber(ARGV[at + 3 * op + 1]) > limit then
      full[op] = true
      any = true
    end
  end
  for op = 0, ops - 1 do
    local key = tonumber(ARGV[at + 3 * op])
    local refund = ARGV[at + 3 * op + 2] == '-'
    local held = any and not full[op] and not refund
    if not refund then
      opens[key] = true
      if counts[key] and not held then
        local hits = tonumber(ARGV[at + 3 * op + 1])
        counts[key] = counts[key] + hits
        change[key] = change[key] + hits
      end
    end
    keys[#keys + 1] = key
    results[#results + 1] = after[op] or counts[key]
    results[#results + 1] = held and 1 or 0
  end
  at = at + 3 * ops
end
for i = 1, #KEYS do
  local count = counts[i]
  if count and (change[i] ~= 0 or opens[i]) then
    count = redis.pcall('INCRBY', KEYS[i], string.format('%.0f', change[i]))
  end
  if type(count) == 'number' then
    local least = tonumber(ARGV[2 * i])
    if opens[i] and (fresh[i] or (least > 0 and redis.call('TTL', KEYS[i]) < least)) then
      redis.call('EXPIRE', KEYS[i], ARGV[2 * i - 1])
    end
    if lowered[i] then ${TELL} end
  else
    failure = failure or count.err
    counts[i] = false
  end
end
for op = 1, #keys do
  if not counts[keys[op]] then results[2 * op - 1] = false end
end
results[2 * #keys + 1] = failure
${PACKED_REPLY}`;

/** A script as the encoded words of its call. */
export interface Script {
  /** `EVALSHA` and the digest of the text. */
  readonly byDigest: Uint8Array;
  /** `EVAL` and the text, for a server that does not have the script (first use, restart, flush). */
  readonly byText: Uint8Array;
}

export const INCREMENT = script(INCREMENT_SCRIPT);
export const REFUND = script(REFUND_SCRIPT);
export const HOLD_BACK = script(HOLD_BACK_SCRIPT);

export function script(source: string): Script {
  const sha1 = createHash('sha1').update(source).digest('hex');
  return { byDigest: encodedWords('EVALSHA', sha1), byText: encodedWords('EVAL', source) };
}

/** The reply of a script: numbers (NaN for a key that could not be counted) and the first error (empty for none). */
interface ScriptReply {
  readonly numbers: Float64Array;
  readonly failure: string;
}

/**
 * Reads the reply of a script: an array, or the same array as MessagePack in one string, which costs Redis and the client
 * much less. Null if the reply has another form.
 */
export function readScriptReply(reply: unknown, expected: number): ScriptReply | null {
  if (Buffer.isBuffer(reply)) return readPacked(reply, expected);
  if (!Array.isArray(reply) || reply.length !== expected + 1) return null;
  const numbers = new Float64Array(expected);
  for (let i = 0; i < expected; i++) {
    numbers[i] = typeof reply[i] === 'number' ? reply[i] : Number.NaN;
  }
  const failure: unknown = reply[expected];
  return { numbers, failure: failure === null || failure === undefined ? '' : withoutPlace(String(failure)) };
}

/** @param bytes MessagePack of an array: numbers and `false`, then a text or `false` */
function readPacked(bytes: Buffer, expected: number): ScriptReply | null {
  const reader = new MsgpackReader(bytes);
  try {
    if (reader.array() !== expected + 1) return null;
    const numbers = new Float64Array(expected);
    for (let i = 0; i < expected; i++) numbers[i] = reader.number();
    const failure = reader.value();
    return { numbers, failure: failure === false ? '' : withoutPlace(String(failure)) };
  } catch (failure) {
    if (failure instanceof RangeError) return null;
    throw failure;
  }
}
