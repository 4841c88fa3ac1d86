-- Claims keys of scores, see claim-records.ts, which describes the records of ARGV.
-- KEYS: the mark of completeness, the prefix of the buckets.
-- Answers the mark, then for each key what is held: '' if it was free, or the same request has it in
-- the same state.
local call, sub = redis.call, string.sub
local now = tonumber(call('TIME')[1])
local day = math.floor(now / DAY_SEC)
local today, yesterday = KEYS[2] .. day .. ':', KEYS[2] .. (day - 1) .. ':'
local since = string.format('%010d', now)
local function readLive(name, field)
  local held = call('HGET', name, field)
  return held and now - tonumber(sub(held, 2, TIME_END)) < DAY_SEC and held
end
local answer = {call('GET', KEYS[1]) or ''}
for at = 1, #ARGV[1], NAME + 1 + REST do
  local record = sub(ARGV[1], at, at + NAME + REST)
  local bucket, field = sub(record, 1, BUCKET), sub(record, BUCKET + 1, NAME)
  local state, rest = sub(record, NAME + 1, NAME + 1), sub(record, NAME + 2)
  local name, value = today .. bucket, state .. since .. rest
  local held = readLive(yesterday .. bucket, field)
  if not held then
    if call('HSETNX', name, field, value) == 0 then
      held = readLive(name, field)
      if not held then call('HSET', name, field, value) end
    elseif call('HLEN', name) == 1 then call('EXPIRE', name, 2 * DAY_SEC) end
  end
  if held and sub(held, TIME_END + 1) == rest and sub(held, 1, 1) == state then held = false end
  answer[#answer + 1] = held and (held .. since) or ''
end
return answer
