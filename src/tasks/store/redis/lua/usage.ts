import { MAX_USAGE_WORKERS, USAGE_FIGURES, USAGE_SPANS } from '../../../model/usage.ts';

/** In place of the id of a worker: all workers of the tenant. No id is like this. */
export const ALL_WORKERS = '*';

const SPANS = Object.values(USAGE_SPANS).map(({ ms, keepMs }) => `{ ${ms}, ${keepMs} }`);

/**
 * The usage of an interval is a hash: for each worker its pairs, packed. It expires by itself.
 *
 *     ARGV    time; then for each increment `[at, worker, pairs]` (JSON)
 */
export const ADD_USAGE = `if call('HEXISTS', P .. 'D:account', 'account') == 0 then return {} end
local function add(length, keepMs, at, worker, figures)
  local start = at - at % length
  local over = start + length + keepMs
  if over <= now then return end
  local name = P .. 'U:' .. length .. ':' .. ms(start)
  local known = call('HGET', name, worker)
  if not known and worker ~= '${ALL_WORKERS}' and call('HLEN', name) > ${MAX_USAGE_WORKERS} then return end
  local sums = {}
  for _, list in ipairs({ known and unpacked(known) or {}, figures }) do
    for i = 1, #list, 2 do sums[list[i]] = (sums[list[i]] or 0) + list[i + 1] end
  end
  local merged = {}
  for place = 0, ${USAGE_FIGURES - 1} do
    if sums[place] then
      merged[#merged + 1] = place
      merged[#merged + 1] = sums[place]
    end
  end
  call('HSET', name, worker, pack(merged))
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
