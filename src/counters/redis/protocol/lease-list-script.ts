import { script } from './scripts.ts';

/**
 * Lists the live leases of a limit that end first; see `lease-states.ts`.
 *
 *     KEYS    the two keys of the limit
 *     ARGV    how many leases to list
 *     returns the number of live leases, the account or an empty text, and for each listed lease its name, its record or an
 *             empty text, and the milliseconds until it ends
 */
export const LEASE_LIST = script(`local time = redis.call('TIME')
local clock = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
local results = { redis.call('ZCOUNT', KEYS[2], '(' .. clock, '+inf'), redis.call('HGET', KEYS[1], '') or '' }
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. clock, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for i = 1, #found, 2 do
  results[#results + 1] = found[i]
  results[#results + 1] = redis.call('HGET', KEYS[1], found[i]) or ''
  results[#results + 1] = found[i + 1] - clock
end
return results
`);
