-- Claims keys of scores, see claim-records.ts, which describes the records of ARGV.
-- KEYS: the mark of completeness, the prefix of the buckets.
-- Answers the mark, then for each key that is held, unless the same request has it in the same state,
-- the number of its record, from 1 on, and what is held.
local call, sub = redis.call, string.sub
local now = tonumber(call('TIME')[1])
local day = math.floor(now / DAY_SEC)
local today, yesterday = KEYS[2] .. day .. ':', KEYS[2] .. (day - 1) .. ':'
local since = string.format('%010d', now)
local function readLive(name, field)
  local held = call('HGET', name, field)
  return held and now - tonumber(sub(held, 2, TIME_END)) < DAY_SEC and held
end
local records, number = ARGV[1], 0
local answer = {call('GET', KEYS[1]) or ''}
for at = 1, #records, NAME + 1 + REST do
  local bucket, field = sub(records, at, at + BUCKET - 1), sub(records, at + BUCKET, at + NAME - 1)
  local state, rest = sub(records, at + NAME, at + NAME), sub(records, at + NAME + 1, at + NAME + REST)
  local name, value = today .. bucket, state .. since .. rest
  number = number + 1
  local held = readLive(yesterday .. bucket, field)
  if not held then
    if call('HSETNX', name, field, value) == 0 then
      held = readLive(name, field)
      if not held then call('HSET', name, field, value) end
    elseif call('HLEN', name) == 1 then call('EXPIRE', name, 2 * DAY_SEC) end
  end
  if held and (sub(held, 1, 1) ~= state or sub(held, TIME_END + 1) ~= rest) then
    answer[#answer + 1] = number
    answer[#answer + 1] = held .. since
  end
end
return answer
