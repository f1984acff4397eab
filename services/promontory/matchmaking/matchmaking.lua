#!lua name=promontory_matchmaking_SHA8
-- The writes of matchmaking and the lobby, each all or nothing. As with the event log's functions, SHA8 stands for the
-- source's digest, everything is checked before the first write, and no error text is made from arguments.
--
-- Keys, all of one slot:  t ticket (hash)   o a player's open tickets (hash: pool -> ticket)   w a pool's queue (hash)
-- x proposal (hash)   due proposals by the end of their lease (sorted set)   tries leases given (hash)   feed (stream)
-- b table (hash)   i invite code -> table   ends open tables by their end (sorted set)
-- g open tables a player sits at   q rematches a player is asked to (both sorted sets, by when they were last changed)
-- out players who are kept out by when that ends (sorted set), as digests
-- k a match that is listed (hash)   l live matches by when they were made (sorted set)
-- m a player's matches by when they were made   f those that are closed, by when (both sorted sets)   e their rows (hash)
--
-- Each function answers a repetition as it answered first, or says that it was done. With what it did now to tickets it
-- returns the id of the note that tells of it, `create` also how many wait in the pool then.

local FEED_LENGTH = 10000
local LIST_LENGTH = 1000
local ASKED_LENGTH = 50
local LONGEST_LEASE = 4
local CLOSED_MS = 24 * 3600 * 1000

local function integer(number)
  return string.format('%.0f', number)
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function lease(due, name, milliseconds)
  redis.call('ZADD', due, integer(now_ms() + tonumber(milliseconds)), name)
end

-- Tells of tickets that have come to a pool's queue, or of a table, whose pool is empty. Returns the note's id.
local function note(feed, pool, tickets)
  return redis.call('XADD', feed, 'MAXLEN', '~', FEED_LENGTH, '*', 'p', pool, 't', tickets)
end

-- Tells of tickets that have changed and are in no queue now: `g` says that they are gone from there.
local function note_gone(feed, pool, tickets)
  return redis.call('XADD', feed, 'MAXLEN', '~', FEED_LENGTH, '*', 'p', pool, 't', tickets, 'g', '')
end

-- Puts a row into a player's lists; returns how much that changed. What is older than the oldest of a full list stays out.
local function file(m, f, e, match, created, closed, row)
  if redis.call('ZCARD', m) >= LIST_LENGTH and not redis.call('ZSCORE', m, match) then
    local oldest = redis.call('ZRANGE', m, 0, 0, 'WITHSCORES')
    if tonumber(created) <= tonumber(oldest[2]) then return 0 end
  end
  local changes = redis.call('ZADD', m, 'CH', created, match)
  if redis.call('HGET', e, match) ~= row then
    redis.call('HSET', e, match, row)
    changes = changes + 1
  end
  if closed == '' then
    changes = changes + redis.call('ZREM', f, match)
  else
    changes = changes + redis.call('ZADD', f, 'CH', closed, match)
  end
  for _, old in ipairs(redis.call('ZRANGE', m, 0, -LIST_LENGTH - 1)) do
    redis.call('ZREM', m, old)
    redis.call('ZREM', f, old)
    redis.call('HDEL', e, old)
  end
  return changes
end

-- Lists a match; returns how much that changed. It is remembered for a while that a match is closed, so that one that is
-- listed late does not come to life again.
-- keys[first..]: k, then each l, then m, f and e of each player who keeps lists
-- arguments[from..]: match, when it was made, when it was closed or nothing, row, the number of l's, whether to overwrite
local function list(keys, first, arguments, from)
  local match, created, closed, row = arguments[from], arguments[from + 1], arguments[from + 2], arguments[from + 3]
  local live, overwrites = tonumber(arguments[from + 4]), arguments[from + 5] == '1'
  local k, changes = keys[first], 0
  if closed == '' and redis.call('HEXISTS', k, 'closed') == 1 then
    if not overwrites then return 0 end
    redis.call('HDEL', k, 'closed')
    redis.call('PERSIST', k)
  end
  redis.call('HSET', k, 'row', row)
  if closed ~= '' then
    redis.call('HSET', k, 'closed', closed)
    redis.call('PEXPIRE', k, CLOSED_MS)
  end
  for i = first + 1, first + live do
    if closed == '' then
      changes = changes + redis.call('ZADD', keys[i], 'CH', created, match)
    else
      changes = changes + redis.call('ZREM', keys[i], match)
    end
  end
  for i = first + live + 1, #keys, 3 do
    changes = changes + file(keys[i], keys[i + 1], keys[i + 2], match, created, closed, row)
  end
  return changes
end

-- Returns until when, in ms, a player is kept out; nothing if the player is not.
local function kept_out(out, player)
  local until_ms = redis.call('ZSCORE', out, player)
  if until_ms and tonumber(until_ms) > now_ms() then return until_ms end
end

-- KEYS 1 t  2 o  3 w  4 feed  5 out      ARGV 1 ticket  2 pool  3 fingerprint  4 body  5 most open  6 player, for out
local function create(KEYS, ARGV)
  local fingerprint = redis.call('HGET', KEYS[1], 'fingerprint')
  if fingerprint == ARGV[3] then return {'KNOWN'} end
  if fingerprint then return {'REUSED'} end
  local until_ms = kept_out(KEYS[5], ARGV[6])
  if until_ms then return {'OUT', until_ms} end
  local open = redis.call('HGET', KEYS[2], ARGV[2])
  if open then return {'OPEN', open} end
  if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[5]) then return {'LIMIT'} end
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[3], 'body', ARGV[4], 'state', 'waiting')
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], '0|0|' .. ARGV[4])
  return {'OK', note(KEYS[4], ARGV[2], ARGV[1]), redis.call('HLEN', KEYS[3])}
end

-- KEYS 1 t  2 o  3 w  4 feed      ARGV 1 ticket  2 pool  3 retention in ms
local function cancel(KEYS, ARGV)
  if redis.call('HGET', KEYS[1], 'state') ~= 'waiting' then return {'NOT_WAITING'} end
  redis.call('HSET', KEYS[1], 'state', 'cancelled')
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('HDEL', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[1])
  return {'OK', note_gone(KEYS[4], ARGV[2], ARGV[1])}
end

-- KEYS 1 due  2 x  3 w  4 feed  5.. t of each ticket
-- ARGV 1 proposal  2 body  3 pool  4 lease in ms  5 tickets, joined  6.. each ticket
local function claim(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[2]) == 1 then return {'OK'} end
  for i = 5, #KEYS do
    if redis.call('HGET', KEYS[i], 'state') ~= 'waiting' then return {'GONE'} end
  end
  redis.call('HSET', KEYS[2], 'body', ARGV[2])
  lease(KEYS[1], ARGV[1], ARGV[4])
  for i = 5, #KEYS do
    redis.call('HSET', KEYS[i], 'state', 'proposed')
    redis.call('HDEL', KEYS[3], ARGV[i + 1])
  end
  return {'OK', note_gone(KEYS[4], ARGV[3], ARGV[5])}
end

-- KEYS 1 due  2 tries  3 x  4 feed, then t and o of each ticket, then the keys of `list`
-- ARGV 1 proposal  2 pool  3 retention in ms  4 tickets, joined  5 k, then k assignments, then the arguments of `list`
local function assign(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[3]) == 0 then return {'GONE'} end
  local k = tonumber(ARGV[5])
  for i = 0, k - 1 do
    local ticket, open = KEYS[5 + 2 * i], KEYS[6 + 2 * i]
    redis.call('HSET', ticket, 'state', 'assigned', 'assignment', ARGV[6 + i])
    redis.call('PEXPIRE', ticket, ARGV[3])
    redis.call('HDEL', open, ARGV[2])
  end
  list(KEYS, 5 + 2 * k, ARGV, 6 + k)
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3])
  return {'OK', note_gone(KEYS[4], ARGV[2], ARGV[4])}
end

-- Gives the tickets back to the queue, but for those of players who are kept out by now, which are cancelled.
-- KEYS 1 due  2 tries  3 x  4 w  5 feed  6 out, then t and o of each ticket
-- ARGV 1 proposal  2 pool  3 tickets, joined  4 refusals in a row  5 when to retry, in ms  6 retention in ms,
--      then each ticket and its player, for out
local function release(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[3]) == 0 then return {'GONE'} end
  for i = 7, #KEYS, 2 do
    if kept_out(KEYS[6], ARGV[i + 1]) then
      redis.call('HSET', KEYS[i], 'state', 'cancelled')
      redis.call('PEXPIRE', KEYS[i], ARGV[6])
      redis.call('HDEL', KEYS[i + 1], ARGV[2])
    else
      local body = redis.call('HGET', KEYS[i], 'body')
      redis.call('HSET', KEYS[i], 'state', 'waiting', 'refusals', ARGV[4], 'retry', ARGV[5])
      redis.call('HSET', KEYS[4], ARGV[i], ARGV[4] .. '|' .. ARGV[5] .. '|' .. body)
    end
  end
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3])
  return {'OK', note(KEYS[5], ARGV[2], ARGV[3])}
end

-- KEYS 1 due  2 tries      ARGV 1 limit  2 lease in ms
local function overdue(KEYS, ARGV)
  local names = redis.call('ZRANGE', KEYS[1], '-inf', integer(now_ms()), 'BYSCORE', 'LIMIT', 0, ARGV[1])
  for _, name in ipairs(names) do
    local times = math.min(redis.call('HINCRBY', KEYS[2], name, 1), LONGEST_LEASE)
    lease(KEYS[1], name, times * ARGV[2])
  end
  return names
end

-- Notes what a player is to a table: 'sits', 'asked' or nothing. Tables that are not open have nobody.
local function relate(g, q, table, role)
  redis.call('ZREM', g, table)
  redis.call('ZREM', q, table)
  if role == 'sits' then redis.call('ZADD', g, integer(now_ms()), table) end
  if role == 'asked' then redis.call('ZADD', q, integer(now_ms()), table) end
  redis.call('ZREMRANGEBYRANK', q, 0, -ASKED_LENGTH - 1)
end

-- Stores a table's next revision, the first one if the table is to be opened, and with its match lists that.
-- KEYS 1 b  2 i  3 ends  4 due  5 tries  6 feed  7 out, then g and q of each of p players, then the keys of `list`, if it
--      began
-- ARGV 1 table  2 revision  3 fingerprint  4 body  5 state  6 end in ms  7 lease in ms  8 retention in ms  9 most open
--      10 p  11 n, then p roles, then n players who sat not at the revision before, for out, then the arguments of `list`
local function put_table(KEYS, ARGV)
  local revision, p, n = tonumber(ARGV[2]), tonumber(ARGV[10]), tonumber(ARGV[11])
  local row = redis.call('HMGET', KEYS[1], 'fingerprint', 'revision')
  if revision == 1 then
    if row[1] then return {row[1] == ARGV[3] and 'KNOWN' or 'REUSED'} end
    if redis.call('EXISTS', KEYS[2]) == 1 then return {'CODE_TAKEN'} end
  elseif row[2] ~= integer(revision - 1) then
    return {'STALE'}
  end
  for i = 1, n do
    local until_ms = kept_out(KEYS[7], ARGV[11 + p + i])
    if until_ms then return {'OUT', until_ms} end
  end
  for i = 1, p do
    local g = KEYS[6 + 2 * i]
    local is_new = ARGV[11 + i] == 'sits' and not redis.call('ZSCORE', g, ARGV[1])
    if is_new and redis.call('ZCARD', g) >= tonumber(ARGV[9]) then return {'LIMIT'} end
  end
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[3], 'revision', ARGV[2], 'body', ARGV[4])
  redis.call('SET', KEYS[2], ARGV[1])
  if ARGV[5] == 'open' then
    redis.call('ZADD', KEYS[3], ARGV[6], ARGV[1])
  else
    redis.call('ZREM', KEYS[3], ARGV[1])
  end
  if ARGV[5] == 'starting' then
    lease(KEYS[4], ARGV[1], ARGV[7])
  elseif ARGV[5] ~= 'open' then
    redis.call('PEXPIRE', KEYS[1], ARGV[8])
    redis.call('PEXPIRE', KEYS[2], ARGV[8])
    redis.call('ZREM', KEYS[4], ARGV[1])
    redis.call('HDEL', KEYS[5], ARGV[1])
  end
  for i = 1, p do relate(KEYS[6 + 2 * i], KEYS[7 + 2 * i], ARGV[1], ARGV[11 + i]) end
  if #KEYS > 7 + 2 * p then list(KEYS, 8 + 2 * p, ARGV, 12 + p + n) end
  note(KEYS[6], '', ARGV[1])
  return {'OK'}
end

-- KEYS and ARGV are those of `list`
local function list_match(KEYS, ARGV)
  return list(KEYS, 1, ARGV, 1)
end

-- KEYS 1 k, then each l, then m, f and e of each player      ARGV 1 match  2 the number of l's
local function unlist_match(KEYS, ARGV)
  redis.call('DEL', KEYS[1])
  for i = 2, 1 + tonumber(ARGV[2]) do redis.call('ZREM', KEYS[i], ARGV[1]) end
  for i = 2 + tonumber(ARGV[2]), #KEYS, 3 do
    redis.call('ZREM', KEYS[i], ARGV[1])
    redis.call('ZREM', KEYS[i + 1], ARGV[1])
    redis.call('HDEL', KEYS[i + 2], ARGV[1])
  end
  return {'OK'}
end

redis.register_function('create_SHA8', create)
redis.register_function('cancel_SHA8', cancel)
redis.register_function('claim_SHA8', claim)
redis.register_function('assign_SHA8', assign)
redis.register_function('release_SHA8', release)
redis.register_function('overdue_SHA8', overdue)
redis.register_function('put_table_SHA8', put_table)
redis.register_function('list_match_SHA8', list_match)
redis.register_function('unlist_match_SHA8', unlist_match)
