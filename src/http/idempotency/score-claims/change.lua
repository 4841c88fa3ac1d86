-- Changes claims that still belong to a request, see claim-records.ts, which describes the records of
-- ARGV.
-- KEYS: the prefix of the buckets.
-- Answers the numbers of the records, from 1 on, whose keys no longer belonged to their requests.
local call, sub = redis.call, string.sub
local now = tonumber(call('TIME')[1])
local day = math.floor(now / DAY_SEC)
local today, yesterday = KEYS[1] .. day .. ':', KEYS[1] .. (day - 1) .. ':'
local records, lost, number = ARGV[1], {}, 0
for at = 1, #records, NAME + ID + 1 + REST do
  local bucket, field = sub(records, at, at + BUCKET - 1), sub(records, at + BUCKET, at + NAME - 1)
  local id, change = sub(records, at + NAME, at + NAME + ID - 1), sub(records, at + NAME + ID, at + NAME + ID)
  number = number + 1
  local name = today .. bucket
  local held = call('HGET', name, field)
  if not held then
    name = yesterday .. bucket
    held = call('HGET', name, field)
  end
  if not held or sub(held, -ID) ~= id then lost[#lost + 1] = number
  elseif change == 'L' then call('HSET', name, field, 'L' .. sub(held, 2))
  elseif change == 'D' then call('HDEL', name, field)
  else
    local rest = sub(records, at + NAME + ID + 1, at + NAME + ID + REST)
    call('HSET', name, field, 'C' .. string.format('%010d', now) .. rest)
  end
end
return lost
