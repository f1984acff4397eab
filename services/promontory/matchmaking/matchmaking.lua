#!lua name=promontory_matchmaking_SHA8
-- The writes of matchmaking and the lobby, each all or nothing. As with the event log's functions, SHA8 stands for the
-- source's digest, everything is checked before the first write, and no error text is made from arguments.
--
-- Keys, all of one slot:  t ticket (hash)   o a player's open tickets (hash: pool -> ticket)   w a pool's queue (hash)
-- x proposal (hash)   due proposals by the end of their lease (sorted set)   tries leases given (hash)   feed (stream)
-- b table (hash)   i invite code -> table   m a player's matches (sorted set)   n number of the last match entry
--
-- Each function answers a repetition as it answered first, or says that it was done.

local FEED_LENGTH = 10000
local LIST_LENGTH = 1000
local LONGEST_LEASE = 4

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

local function note(feed, pool, tickets)
  redis.call('XADD', feed, 'MAXLEN', '~', FEED_LENGTH, '*', 'p', pool, 't', tickets)
end

-- Adds entries to lists of matches: keys[first..] are the lists, and arguments from `from` on their entries.
local function list(n, keys, first, arguments, from)
  for i = 0, #keys - first do
    redis.call('ZADD', keys[first + i], redis.call('INCR', n), arguments[from + i])
    redis.call('ZREMRANGEBYRANK', keys[first + i], 0, -LIST_LENGTH - 1)
  end
end

-- KEYS 1 t  2 o  3 w  4 feed      ARGV 1 ticket  2 pool  3 fingerprint  4 body  5 most open
local function create(KEYS, ARGV)
  local fingerprint = redis.call('HGET', KEYS[1], 'fingerprint')
  if fingerprint == ARGV[3] then return {'KNOWN'} end
  if fingerprint then return {'REUSED'} end
  local open = redis.call('HGET', KEYS[2], ARGV[2])
  if open then return {'OPEN', open} end
  if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[5]) then return {'LIMIT'} end
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[3], 'body', ARGV[4], 'state', 'waiting')
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], '0|0|' .. ARGV[4])
  note(KEYS[4], ARGV[2], ARGV[1])
  return {'OK'}
end

-- KEYS 1 t  2 o  3 w  4 feed      ARGV 1 ticket  2 pool  3 retention in ms
local function cancel(KEYS, ARGV)
  if redis.call('HGET', KEYS[1], 'state') ~= 'waiting' then return {'NOT_WAITING'} end
  redis.call('HSET', KEYS[1], 'state', 'cancelled')
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('HDEL', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[1])
  note(KEYS[4], ARGV[2], ARGV[1])
  return {'OK'}
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
  note(KEYS[4], ARGV[3], ARGV[5])
  return {'OK'}
end

-- KEYS 1 due  2 tries  3 x  4 n  5 feed, then t and o of each ticket, then m of each player who keeps a list
-- ARGV 1 proposal  2 pool  3 retention in ms  4 tickets, joined  5 k, then k assignments, then an entry for each list
local function assign(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[3]) == 0 then return {'GONE'} end
  local k = tonumber(ARGV[5])
  for i = 0, k - 1 do
    local ticket, open = KEYS[6 + 2 * i], KEYS[7 + 2 * i]
    redis.call('HSET', ticket, 'state', 'assigned', 'assignment', ARGV[6 + i])
    redis.call('PEXPIRE', ticket, ARGV[3])
    redis.call('HDEL', open, ARGV[2])
  end
  list(KEYS[4], KEYS, 6 + 2 * k, ARGV, 6 + k)
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3])
  note(KEYS[5], ARGV[2], ARGV[4])
  return {'OK'}
end

-- KEYS 1 due  2 tries  3 x  4 w  5 feed  6.. t of each ticket
-- ARGV 1 proposal  2 pool  3 tickets, joined  4 refusals in a row  5 when to retry, in ms  6.. each ticket
local function release(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[3]) == 0 then return {'GONE'} end
  for i = 6, #KEYS do
    local body = redis.call('HGET', KEYS[i], 'body')
    redis.call('HSET', KEYS[i], 'state', 'waiting', 'refusals', ARGV[4], 'retry', ARGV[5])
    redis.call('HSET', KEYS[4], ARGV[i], ARGV[4] .. '|' .. ARGV[5] .. '|' .. body)
  end
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3])
  note(KEYS[5], ARGV[2], ARGV[3])
  return {'OK'}
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

-- KEYS 1 b  2 i      ARGV 1 table  2 fingerprint  3 body  4 seats  5 first guest  6 first player  7 retention in ms
local function open_table(KEYS, ARGV)
  local fingerprint = redis.call('HGET', KEYS[1], 'fingerprint')
  if fingerprint == ARGV[2] then return {'KNOWN'} end
  if fingerprint then return {'REUSED'} end
  if redis.call('EXISTS', KEYS[2]) == 1 then return {'CODE_TAKEN'} end
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[2], 'body', ARGV[3], 'seats', ARGV[4], 'taken', 1,
             'guest:0', ARGV[5], 'seat:' .. ARGV[6], 0)
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[7])
  return {'OK'}
end

-- KEYS 1 b  2 due      ARGV 1 table  2 guest  3 player  4 lease in ms
local function join_table(KEYS, ARGV)
  local row = redis.call('HMGET', KEYS[1], 'taken', 'seats', 'seat:' .. ARGV[3])
  if not row[1] then return {'NONE'} end
  if row[3] then return {'OK'} end
  local taken, seats = tonumber(row[1]), tonumber(row[2])
  if taken >= seats then return {'FULL'} end
  redis.call('HSET', KEYS[1], 'guest:' .. integer(taken), ARGV[2], 'seat:' .. ARGV[3], taken, 'taken', taken + 1)
  if taken + 1 == seats then
    redis.call('PERSIST', KEYS[1])
    lease(KEYS[2], ARGV[1], ARGV[4])
  end
  return {'OK'}
end

-- KEYS 1 b  2 due  3 tries  4 n  5.. m of each player
-- ARGV 1 table  2 made  3 retention in ms  4.. an entry for each list
local function start_table(KEYS, ARGV)
  if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], 'made') == 1 then return {'GONE'} end
  redis.call('HSET', KEYS[1], 'made', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
  list(KEYS[4], KEYS, 5, ARGV, 4)
  return {'OK'}
end

redis.register_function('create_SHA8', create)
redis.register_function('cancel_SHA8', cancel)
redis.register_function('claim_SHA8', claim)
redis.register_function('assign_SHA8', assign)
redis.register_function('release_SHA8', release)
redis.register_function('overdue_SHA8', overdue)
redis.register_function('open_table_SHA8', open_table)
redis.register_function('join_table_SHA8', join_table)
redis.register_function('start_table_SHA8', start_table)
