import { MAX_USAGE_WORKERS, USAGE_SPANS } from '../../../model/usage.ts';

/** In place of the id of a worker: all workers of the tenant. No id is like this. */
export const ALL_WORKERS = '*';

const SPANS = Object.values(USAGE_SPANS).map(({ ms, keepMs }) => `{ ${ms}, ${keepMs} }`);

/**
 * The usage of an interval is a hash: for each worker its pairs, packed. It expires by itself.
 *
 *     ARGV    time; then for each increment `[at, worker, pairs]` (JSON)
 */
export const ADD_USAGE = `local account = call('HGET', P .. 'D:account', 'account')
if not account or cjson.decode(unpacked(account)[5]).deletion then return {} end
-- Both lists are in the order of the places.
local function merged(a, b)
  local sum, i, j = {}, 1, 1
  while a[i] or b[j] do
    local place = math.min(a[i] or math.huge, b[j] or math.huge)
    local count = 0
    if a[i] == place then
      count = a[i + 1]
      i = i + 2
    end
    if b[j] == place then
      count = count + b[j + 1]
      j = j + 2
    end
    sum[#sum + 1] = place
    sum[#sum + 1] = count
  end
  return sum
end
local function add(length, keepMs, at, worker, figures)
  local start = at - at % length
  local over = start + length + keepMs
  if over <= now then return end
  local name = P .. 'U:' .. length .. ':' .. ms(start)
  local known = call('HGET', name, worker)
  if not known and worker ~= '${ALL_WORKERS}' and call('HLEN', name) > ${MAX_USAGE_WORKERS} then return end
  call('HSET', name, worker, pack(known and merged(unpacked(known), figures) or figures))
  if ticks and not known then call('PEXPIREAT', name, ms(over)) end
end
local increments = {}
for i = 2, #ARGV do increments[i - 1] = cjson.decode(ARGV[i]) end
for i = 1, #increments do
  local at, worker, figures = unpack(increments[i])
  for _, span in ipairs({ ${SPANS.join(', ')} }) do add(span[1], span[2], at, worker, figures) end
end
return {}
`;

/**
 *     ARGV    time, worker, length of an interval, how long it is kept, start of the first one, number of intervals
 *     returns start and pairs of each interval in which something happened
 */
export const USAGE = `local length, keepMs = tonumber(ARGV[3]), tonumber(ARGV[4])
local found = {}
for i = 0, tonumber(ARGV[6]) - 1 do
  local start = ARGV[5] + i * length
  local packed = start + length + keepMs > now and call('HGET', P .. 'U:' .. ARGV[3] .. ':' .. ms(start), ARGV[2])
  if packed then
    found[#found + 1] = start
    found[#found + 1] = packed
  end
end
return found
`;
