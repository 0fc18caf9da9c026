/**
 * The scripts that count in Redis. A script rather than a pipeline of INCRBY and EXPIRE: one command to parse, one
 * reply to read, and the whole of it is atomic. A key that Redis cannot count (another type, an overflow) gives no
 * number for that key and leaves the others alone.
 *
 * A new key gets its time to live, and keeps it: setting it on every increment costs Redis a third more. Keys that a
 * counter of a shorter window may have made are named at the end of ARGV; theirs is set when it ends too early.
 *
 * A reply is an array of numbers, false where there is none, and last the text of the first error, or false. It comes
 * packed (MessagePack), which is one string to send and to read, or plain where Redis lacks the library for it.
 */

const PACKED_REPLY = `local packed, reply = pcall(function() return cmsgpack.pack(results) end)
if packed then return reply end
return results
`;

/**
 * Adds to each key.
 *
 *     KEYS    counters
 *     ARGV    for each key: amount, seconds to live; then for each key that may be shared: its index (from 1), the
 *             seconds that it has to live at least
 *     returns for each key the count afterwards; then the first error
 */
export const INCREMENT_SCRIPT = `local results = {}
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
 * The same for requests that hold their counters back: reads all counters of a request; when some of them would
 * exceed their limit, only those are added to, and the others get 0.
 *
 *     KEYS    counters
 *     ARGV    for each key: seconds to live, the seconds that it has to live at least (0 when it is not shared); then
 *             for each request: 1 when nothing of it is added, else 0, the number of its ops, and for each op: index
 *             of its key (from 1), hits, limit
 *     returns for each op: the count afterwards; 1 when its hits were held back, else 0; then the first error
 */
export const HOLD_BACK_SCRIPT = `local counts = {}
local added = {}
local fresh = {}
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
  added[i] = 0
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
  for op = 0, ops - 1 do
    local count = counts[tonumber(ARGV[at + 3 * op])]
    if not hold and count and count + tonumber(ARGV[at + 3 * op + 1]) > tonumber(ARGV[at + 3 * op + 2]) then
      full[op] = true
      any = true
    end
  end
  for op = 0, ops - 1 do
    local key = tonumber(ARGV[at + 3 * op])
    local hits = tonumber(ARGV[at + 3 * op + 1])
    local held = any and not full[op]
    if counts[key] and not held then
      counts[key] = counts[key] + hits
      added[key] = added[key] + hits
    end
    keys[#keys + 1] = key
    results[#results + 1] = counts[key]
    results[#results + 1] = held and 1 or 0
  end
  at = at + 3 * ops
end
for i = 1, #KEYS do
  local count = counts[i] and redis.pcall('INCRBY', KEYS[i], string.format('%.0f', added[i]))
  if type(count) == 'number' then
    local least = tonumber(ARGV[2 * i])
    if fresh[i] or (least > 0 and redis.call('TTL', KEYS[i]) < least) then
      redis.call('EXPIRE', KEYS[i], ARGV[2 * i - 1])
    end
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
