-- `http-request lua.check DOMAIN HEADERS`: asks Sluice about the request and sets the variables `txn.check_…`, which
-- check-requests.cfg reads. HAProxy sends requests of its own only from Lua.

local CHECKS = 'http://127.0.0.1:8092/check/'

-- Longer than the timeouts of the backend, which answers for an instance that does not.
local TIMEOUT_MS = 1000

local ANSWERED = { 'ratelimit', 'ratelimit-policy', 'retry-after', 'x-ratelimit-status' }

-- Clients write what they like into headers. Sluice would not answer a check with control characters, and of a repeated
-- header the web server could take another value than Sluice.
local function is_odd(values)
  return values[1] ~= nil or values[0]:find('[^ -~]') ~= nil
end

core.register_action('check', { 'http-req' }, function(txn, domain, names)
  local received = txn.http:req_get_headers()
  local headers = {
    ['x-forwarded-method'] = { txn.sf:method() },
    ['x-forwarded-uri'] = { txn.sf:pathq() },
    ['x-forwarded-for'] = { txn.sf:src() },
    ['sluice-refusal-status'] = { '403' },
  }
  for name in ('host,' .. names):gmatch('[^,]+') do
    local values = received[name]
    if values and is_odd(values) then
      txn:set_var('txn.check_is_odd', true)
      return
    end
    if values then headers[name == 'host' and 'x-forwarded-host' or name] = { values[0] } end
  end
  local answer = core.httpclient():get({ url = CHECKS .. domain, headers = headers, timeout = TIMEOUT_MS })
  txn:set_var('txn.check_status', answer.status)
  for _, name in ipairs(ANSWERED) do
    local values = answer.headers and answer.headers[name]
    if values then txn:set_var('txn.check_' .. name:gsub('-', '_'), values[0]) end
  end
end, 2)
