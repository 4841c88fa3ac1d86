-- Changes claims that still belong to a request, see claim-records.ts, which describes the records of
-- ARGV.
-- KEYS: the prefix of the buckets.
-- Answers for each key whether it still belonged to the request.
local call, sub = redis.call, string.sub
local now = tonumber(call('TIME')[1])
local day = math.floor(now / DAY_SEC)
local answer = {}
for at = 1, #ARGV[1], NAME + ID + 1 + REST do
  local record = sub(ARGV[1], at, at + NAME + ID + REST)
  local bucket, field, id = sub(record, 1, BUCKET), sub(record, BUCKET + 1, NAME), sub(record, NAME + 1, NAME + ID)
  local change = sub(record, NAME + ID + 1, NAME + ID + 1)
  local name = KEYS[1] .. day .. ':' .. bucket
  local held = call('HGET', name, field)
  if not held then
    name = KEYS[1] .. (day - 1) .. ':' .. bucket
    held = call('HGET', name, field)
  end
  local isOwn = held and sub(held, -ID) == id
  if isOwn and change == 'D' then call('HDEL', name, field)
  elseif isOwn and change == 'L' then call('HSET', name, field, 'L' .. sub(held, 2))
  elseif isOwn then call('HSET', name, field, 'C' .. string.format('%010d', now) .. sub(record, -REST)) end
  answer[#answer + 1] = isOwn and 1 or 0
end
return answer
