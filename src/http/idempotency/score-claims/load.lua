-- Adds keys of the database, see claim-records.ts.
-- KEYS: the mark of completeness, the prefix of the buckets.
-- ARGV: the mark while the keys are loaded, then records, which claim-records.ts describes.
-- Answers whether the mark is still there. What Redis has of a key stays if it is newer, as a key may
-- have been asked again after its day, or by a process that had died. A mere claim does not stay: it
-- is a relic of a time before, and the database has had the key since.
local call = redis.call
local function dropOlder(name, field, since)
  local held = call('HGET', name, field)
  if not held then return end
  if string.sub(held, 1, 1) == 'C' or string.sub(held, 2, TIME_END) < since then
    call('HDEL', name, field)
  end
end
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local day = math.floor(tonumber(call('TIME')[1]) / DAY_SEC)
for at = 1, #ARGV[2], NAME + TIME_END + REST do
  local record = string.sub(ARGV[2], at, at + NAME + TIME_END + REST - 1)
  local bucket, field = string.sub(record, 1, BUCKET), string.sub(record, BUCKET + 1, NAME)
  local value = string.sub(record, NAME + 1)
  local since = string.sub(value, 2, TIME_END)
  local of = math.floor(tonumber(since) / DAY_SEC)
  if of > day then of = day end
  local name = KEYS[2] .. of .. ':' .. bucket
  local other = KEYS[2] .. (of == day and day - 1 or day) .. ':' .. bucket
  if of >= day - 1 then
    dropOlder(name, field, since)
    dropOlder(other, field, since)
    if call('HEXISTS', other, field) == 0 then call('HSETNX', name, field, value) end
    if call('HLEN', name) == 1 then call('EXPIRE', name, (2 + of - day) * DAY_SEC) end
  end
end
return 1
