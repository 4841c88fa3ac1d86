-- Counts requests of any number of subjects, see script.ts. Names in capitals and now come from there.
local call = redis.call
if now > tonumber(ARGV[1]) then return {now} end
local stamp

local function makeRun(counted) return string.format('%.0f', counted % COUNTS * STAMPS + stamp) end
local function countedAt(run) return math.floor(run / STAMPS) end
local function readAge(run) return (stamp - run) % STAMPS end
local function isLive(run) return readAge(run) < WINDOW end

-- Index of the first run that satisfies, where the one at low does not and the last does:
-- steps that double, then halving, since a log may hold 60,000.
local function firstThat(key, low, satisfies)
  local last = call('LLEN', key) - 1
  local high, step = math.min(low + 1, last), 1
  while high < last and not satisfies(tonumber(call('LINDEX', key, high))) do
    low, step = high, step * 2
    high = math.min(low + step, last)
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if satisfies(tonumber(call('LINDEX', key, middle))) then high = middle else low = middle end
  end
  return high
end

local answer = {now}
for i, key in ipairs(KEYS) do
  local quota, wanted = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local left, count, oldest, latest = 0, 0, nil, nil
  -- How far the latest run is ahead of this clock, where another node has stamped it.
  local ahead = 0
  stamp = now % STAMPS

  local head = call('LRANGE', key, 0, 1)
  if head[2] then
    left, oldest = countedAt(tonumber(head[1])), tonumber(head[2])
    latest = tonumber(call('LINDEX', key, -1))
    if readAge(latest) >= STAMPS - SKEW then
      ahead = STAMPS - readAge(latest)
      stamp = latest % STAMPS
    end
    if readAge(latest) > STAMPS / 2 then
      count = (countedAt(latest) - left) % COUNTS
      left, latest = 0, makeRun(count)
      call('DEL', key)
      call('RPUSH', key, 0, latest)
      call('PEXPIRE', key, WINDOW)
      latest = tonumber(latest)
      oldest = latest
    elseif not isLive(latest) then
      call('DEL', key)
      left, oldest, latest = 0, nil, nil
    else
      if not isLive(oldest) then
        call('LTRIM', key, firstThat(key, 1, isLive) - 1, -1)
        head = call('LRANGE', key, 0, 1)
        left, oldest = countedAt(tonumber(head[1])), tonumber(head[2])
      end
      count = (countedAt(latest) - left) % COUNTS
    end
  end

  local admitted = math.max(0, math.min(wanted, quota - count))
  if admitted > 0 then
    local run = makeRun((latest and countedAt(latest) or 0) + admitted)
    if not latest then
      call('RPUSH', key, 0, run)
      oldest = tonumber(run)
    elseif readAge(latest) == 0 then call('LSET', key, -1, run)
    else call('RPUSH', key, run) end
    call('PEXPIRE', key, WINDOW)
    count = count + admitted
  end

  local wait = 0
  if quota <= 0 then wait = WINDOW
  elseif count >= quota then
    local function isEnough(run) return (countedAt(run) - left) % COUNTS > count - quota end
    -- Only after the quota was lowered must more than the oldest run leave.
    if count > quota and not isEnough(oldest) then
      oldest = tonumber(call('LINDEX', key, firstThat(key, 1, isEnough)))
    end
    wait = math.min(WINDOW, WINDOW - readAge(oldest) + ahead)
  end

  answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = admitted, count, wait
end
return answer
