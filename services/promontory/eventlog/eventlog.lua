#!lua name=promontory_eventlog_SHA8
-- The event log's writes. The loader puts the first 8 hex digits of this file's SHA-256 in place of SHA8, so that old
-- and new services, side by side in a rolling update, each call the code they were written for.
--
-- A failing function keeps what it has written. So each one checks everything first, and then issues only commands that
-- cannot fail. Replies are arrays; no error text is ever made from arguments.

local PARK_LENGTH = 10000

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function integer(number)
  return string.format('%.0f', number)
end

-- Whether two fingerprints are the same. Older writers kept as hex digits what is packed behind a byte of 255.
local function is_same(kept, fingerprint)
  if kept == fingerprint then return true end
  if string.byte(fingerprint) ~= 255 then return false end
  local digits = string.gsub(string.sub(fingerprint, 2), '.', function(c) return string.format('%02x', string.byte(c)) end)
  return kept == digits
end

-- Whether ARGV holds n events and k obligations, complete, with delays that are numbers or ''.
local function is_well_formed(ARGV)
  local n = tonumber(ARGV[13])
  if not n or n < 1 then return false end
  local p = 14 + 2 * n
  local k = tonumber(ARGV[p] or '')
  if not k or #ARGV ~= p + 2 * k then return false end
  for i = p + 2, #ARGV, 2 do
    if ARGV[i] ~= '' and not tonumber(ARGV[i]) then return false end
  end
  return true
end

-- KEYS 1 log  2 head  3 idem  4 feed  5 due  6 fence  7 tries
-- ARGV 1 fence  2 expected version  3 expected head  4 command id  5 fingerprint  6 new head  7 new status  8 meta
--      9 stream  10 feed length  11 the time it records in ms, or ''  12 greatest difference of clocks in ms
--      13 n, then n times (type, payload), then k, then k times (obligation, delay in ms or '')
local function append(KEYS, ARGV)
  local fence = redis.call('GET', KEYS[6])
  if fence ~= ARGV[1] then return {'FENCED', fence or ''} end
  local seen = redis.call('HGET', KEYS[3], ARGV[4])
  if seen then
    local fingerprint, version = string.match(seen, '^(.*)|(%d+)$')
    if not is_same(fingerprint, ARGV[5]) then return {'KEY_REUSED', version or '0'} end
    return {'DUP', version}
  end
  local head = redis.call('HMGET', KEYS[2], 'v', 'h', 's')
  local version = tonumber(head[1] or '0')
  if head[3] == 'closed' or head[3] == 'archived' then return {'CLOSED', integer(version)} end
  if version ~= tonumber(ARGV[2]) or (head[2] or '') ~= ARGV[3] then return {'CONFLICT', integer(version)} end
  if not is_well_formed(ARGV) then return {'MALFORMED'} end
  local now = now_ms()
  local recorded = tonumber(ARGV[11])
  if recorded and math.abs(now - recorded) > tonumber(ARGV[12]) then return {'CLOCK_SKEW', integer(now)} end

  local n, p = tonumber(ARGV[13]), 14
  version = integer(version + 1)
  local first = redis.pcall('XADD', KEYS[1], version .. '-0', 't', ARGV[p], 'd', ARGV[p + 1],
                            'n', ARGV[13], 'c', ARGV[4], 'h', ARGV[6], 'm', ARGV[8])
  -- The log holds entries beyond its head, or is no stream: nothing has been written yet.
  if type(first) == 'table' and first.err then return {'CORRUPT', version} end
  for i = 1, n - 1 do
    p = p + 2
    redis.call('XADD', KEYS[1], version .. '-' .. integer(i), 't', ARGV[p], 'd', ARGV[p + 1])
  end
  redis.call('HSET', KEYS[2], 'v', version, 'h', ARGV[6], 's', ARGV[7])
  redis.call('HSET', KEYS[3], ARGV[4], ARGV[5] .. '|' .. version)
  local soonest
  for i = p + 3, #ARGV, 2 do
    redis.call('HDEL', KEYS[7], ARGV[i])
    if ARGV[i + 1] == '' then
      redis.call('ZREM', KEYS[5], ARGV[i])
    else
      local delay = tonumber(ARGV[i + 1])
      if not soonest or delay < soonest then soonest = delay end
      redis.call('ZADD', KEYS[5], integer(now + delay), ARGV[i])
    end
  end
  redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[10], '*', 'r', ARGV[9], 'v', version, 'e', fence,
             'd', soonest and integer(soonest) or '')
  return {'OK', version}
end

-- KEYS 1 due  2 tries  3 park
-- ARGV 1 limit  2 lease in ms  3 the caller's time in ms  4 greatest difference of clocks in ms  5 greatest attempts
-- An obligation handed out more often than allowed is parked once, and goes on being handed out until it is settled.
local function claim(KEYS, ARGV)
  local now = now_ms()
  if math.abs(now - tonumber(ARGV[3])) > tonumber(ARGV[4]) then return {'CLOCK_SKEW', integer(now)} end
  local out = {'OK'}
  local names = redis.call('ZRANGE', KEYS[1], '-inf', integer(now), 'BYSCORE', 'LIMIT', 0, ARGV[1])
  for _, name in ipairs(names) do
    local attempt = redis.call('HINCRBY', KEYS[2], name, 1)
    if attempt == tonumber(ARGV[5]) + 1 then
      redis.call('XADD', KEYS[3], 'MAXLEN', '~', PARK_LENGTH, '*', 'o', name, 'why', 'tries')
    end
    redis.call('ZADD', KEYS[1], integer(now + tonumber(ARGV[2])), name)
    out[#out + 1] = name
    out[#out + 1] = integer(attempt)
  end
  return out
end

-- KEYS 1 due  2 tries      ARGV 1 obligation
local function settle(KEYS, ARGV)
  redis.call('HDEL', KEYS[2], ARGV[1])
  return redis.call('ZREM', KEYS[1], ARGV[1])
end

-- KEYS 1 due      ARGV 1 obligation  2 delay in ms  3 'NX' to set it unless it is there, 'XX' to move it if it is
local function owe(KEYS, ARGV)
  return redis.call('ZADD', KEYS[1], ARGV[3], 'CH', integer(now_ms() + tonumber(ARGV[2])), ARGV[1])
end

-- Gives up the commits of a stream that are in the archive. Only what is closed, at the very commit that was archived.
-- KEYS 1 log  2 head  3 idem  4 snap  5 due  6 tries
-- ARGV 1 version  2 head hash  3 location  4 seconds to keep the head  5 obligation that is met by this
--      6 and more: obligations that must have been met before
local function prune(KEYS, ARGV)
  for i = 6, #ARGV do
    if redis.call('ZSCORE', KEYS[5], ARGV[i]) then return {'OWED'} end
  end
  local head = redis.call('HMGET', KEYS[2], 'v', 'h', 's')
  local status = head[3] or 'gone'
  if status == 'open' then return {'OPEN'} end
  if status ~= 'gone' and (head[1] ~= ARGV[1] or head[2] ~= ARGV[2]) then return {'CONFLICT'} end
  if status == 'closed' then
    redis.call('UNLINK', KEYS[1], KEYS[3], KEYS[4])
    redis.call('HSET', KEYS[2], 's', 'archived', 'l', ARGV[3])
    redis.call('EXPIRE', KEYS[2], ARGV[4])
  end
  redis.call('HDEL', KEYS[6], ARGV[5])
  redis.call('ZREM', KEYS[5], ARGV[5])
  return {'OK'}
end

-- Reads the feeds of many buckets in one call, also of different slots of a cluster's node, where XREAD may not.
-- KEYS 1 the first feed, which tells the node
-- ARGV 1 most notes of each feed, then of each feed: its key, and the id after which to read
-- A feed that this node does not hold, or not any more, is told of with an error's text instead of notes.
local function news(KEYS, ARGV)
  local out = {}
  for i = 2, #ARGV, 2 do
    local notes = redis.pcall('XRANGE', ARGV[i], '(' .. ARGV[i + 1], '+', 'COUNT', ARGV[1])
    if notes.err then
      out[#out + 1] = {ARGV[i], notes.err}
    elseif #notes > 0 then
      out[#out + 1] = {ARGV[i], notes}
    end
  end
  return out
end

redis.register_function('append_SHA8', append)
redis.register_function('claim_SHA8', claim)
redis.register_function{function_name = 'settle_SHA8', callback = settle, flags = {'allow-oom'}}
redis.register_function{function_name = 'owe_SHA8', callback = owe, flags = {'allow-oom'}}
redis.register_function{function_name = 'news_SHA8', callback = news, flags = {'no-writes', 'allow-cross-slot-keys'}}
redis.register_function{function_name = 'prune_SHA8', callback = prune, flags = {'allow-oom'}}
