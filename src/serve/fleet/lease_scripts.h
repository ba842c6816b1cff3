#pragma once

namespace sotta {

// The rules of lease_rules.h as Redis runs them: each script is one step that
// no other command comes between. All keys of a stream share a hash tag:
//
//   sotta:{MODEL/STREAM}:lease      hash owner, address; expires with the lease
//   sotta:{MODEL/STREAM}:stream     hash fence, claim, number, next_seq,
//                                   frozen, content, durable, durable_seq
//   sotta:{MODEL/STREAM}:snapshots  hash "12", "7-kept" or "9-left" -> bytes
//
// A server registers in sotta:server:{ADDRESS}, which holds its owner and
// expires as a lease does.
//
// The fence of a stream that was removed, or never saved, is kept for a day:
// longer than any request is on its way.
//
// Where memory is full Redis refuses a script at its first command that needs
// more, unless a write came before: a claim of a known stream and a removal
// begin with DEL, so that streams can still be removed.

// KEYS lease stream; ARGV owner address milliseconds create claim held, the
// claim that goes with a copy in memory or ''.
// {0, address, milliseconds left} | {1, fence, fence before, claim before,
// number} | {2}: there is no such stream, and it was not to be made.
constexpr const char* kClaimScript = R"(
local holder = redis.call('HGET', KEYS[1], 'owner')
if holder and holder ~= ARGV[1] then
  local address = redis.call('HGET', KEYS[1], 'address')
  if address ~= ARGV[2] then
    return {0, address, redis.call('PTTL', KEYS[1])}
  end
end
local before = redis.call('HMGET', KEYS[2], 'fence', 'claim', 'number')
local has_copy = before[2] == ARGV[6]
if ARGV[4] == '0' and not holder and not before[3] and not has_copy then
  return {2}
end
if before[1] then redis.call('DEL', KEYS[1]) end
local fence = redis.call('HINCRBY', KEYS[2], 'fence', 1)
redis.call('HSET', KEYS[2], 'claim', ARGV[5])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'address', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, fence, tonumber(before[1] or 0), before[2] or '',
        tonumber(before[3] or 0)}
)";

// KEYS lease stream; ARGV owner fence milliseconds. 1 if it is prolonged.
constexpr const char* kRenewScript = R"(
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] or
   redis.call('HGET', KEYS[2], 'fence') ~= ARGV[2] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
)";

// KEYS lease; ARGV address milliseconds. 1 if the lease of who is there is
// ended, as it would have lapsed within the milliseconds.
constexpr const char* kEndScript = R"(
if redis.call('HGET', KEYS[1], 'address') ~= ARGV[1] or
   redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
)";

// KEYS lease stream snapshots; ARGV claim fence number milliseconds field bytes
// next_seq frozen owner content fields... 0 saved, 1 fenced, 2 older. `content`
// tells the newest plain snapshot's state, '' if this one is not plain; the
// fields are those of snapshots that go.
constexpr const char* kSaveScript = R"(
local now = redis.call('HMGET', KEYS[2], 'fence', 'claim', 'number')
if now[1] ~= ARGV[2] or now[2] ~= ARGV[1] then return 1 end
if tonumber(ARGV[3]) <= tonumber(now[3] or 0) then return 2 end
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
redis.call('HSET', KEYS[2], 'number', ARGV[3], 'next_seq', ARGV[7],
           'frozen', ARGV[8])
if ARGV[10] ~= '' then redis.call('HSET', KEYS[2], 'content', ARGV[10]) end
if redis.call('HGET', KEYS[1], 'owner') == ARGV[9] then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
for i = 11, #ARGV do redis.call('HDEL', KEYS[3], ARGV[i]) end
return 0
)";

// KEYS stream; ARGV claim fence number next_seq. Notes that enough replicas
// have the snapshot. 1 if it is noted.
constexpr const char* kDurableScript = R"(
local now = redis.call('HMGET', KEYS[1], 'fence', 'claim')
if now[1] ~= ARGV[2] or now[2] ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'durable', ARGV[3], 'durable_seq', ARGV[4])
return 1
)";

// KEYS lease stream; ARGV owner fence. 1 if it is released.
constexpr const char* kReleaseScript = R"(
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] or
   redis.call('HGET', KEYS[2], 'fence') ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
if not redis.call('HGET', KEYS[2], 'number') then
  redis.call('PEXPIRE', KEYS[2], 86400000)
end
return 1
)";

// KEYS lease stream snapshots; ARGV claim fence. 0 removed, 1 fenced.
constexpr const char* kRemoveScript = R"(
local now = redis.call('HMGET', KEYS[2], 'fence', 'claim')
if now[1] ~= ARGV[2] or now[2] ~= ARGV[1] then return 1 end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('HDEL', KEYS[2], 'number', 'next_seq', 'frozen', 'content',
           'durable', 'durable_seq')
redis.call('HINCRBY', KEYS[2], 'fence', 1)  -- for saves on their way
redis.call('PEXPIRE', KEYS[2], 86400000)
return 0
)";

// KEYS server; ARGV owner milliseconds gone. {1}: registered; {0, owner,
// milliseconds left} if another is there, unless it is `gone`.
constexpr const char* kRegisterScript = R"(
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] and owner ~= ARGV[3] then
  return {0, owner, redis.call('PTTL', KEYS[1])}
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1}
)";

// KEYS server; ARGV owner. 1 if its registration is ended.
constexpr const char* kUnregisterScript = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
)";

// KEYS stream snapshots; ARGV claim fence field name. Gives a snapshot another
// name.
constexpr const char* kRenameScript = R"(
local now = redis.call('HMGET', KEYS[1], 'fence', 'claim')
if now[1] ~= ARGV[2] or now[2] ~= ARGV[1] then return 1 end
local bytes = redis.call('HGET', KEYS[2], ARGV[3])
if bytes then
  redis.call('HDEL', KEYS[2], ARGV[3])
  redis.call('HSET', KEYS[2], ARGV[4], bytes)
end
return 0
)";

}  // namespace sotta
