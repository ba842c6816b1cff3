#include <algorithm>
#include <utility>

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include "sotta/core/error.h"

#include "serve/fleet/redis_client.h"

namespace sotta {
namespace {

constexpr const char* kCluster =
    "is a node of a Redis Cluster, expected one Redis (and replicas)";

timeval to_timeval(int64_t milliseconds) {
  timeval time = {};
  time.tv_sec = static_cast<time_t>(milliseconds / 1000);
  time.tv_usec = static_cast<suseconds_t>(milliseconds % 1000 * 1000);
  return time;
}

RedisReply to_value(const redisReply& reply) {
  RedisReply value;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      value.kind = RedisReply::Kind::kInteger;
      value.integer = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
      value.kind = RedisReply::Kind::kList;
      for (size_t i = 0; i < reply.elements; ++i)
        value.list.push_back(to_value(*reply.element[i]));
      break;
    case REDIS_REPLY_ERROR:
      value.kind = RedisReply::Kind::kError;
      value.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_NIL:
      break;
    default:
      value.kind = RedisReply::Kind::kText;
      value.text.assign(reply.str, reply.len);
  }
  return value;
}

// Of a line "name:value" of what INFO says; empty if there is none.
std::string value_in(const std::string& info, const std::string& name) {
  const std::string begin = "\n" + name + ":";
  const size_t found = info.find(begin);
  if (found == std::string::npos) return "";
  const size_t first = found + begin.size();
  return info.substr(first, info.find_first_of("\r\n", first) - first);
}

}  // namespace

class RedisClient::Connection {
 public:
  Connection(const RedisAddress& address, int64_t timeout_ms)
      : name_(address.text()) {
    const timeval timeout = to_timeval(timeout_ms);
    context_ =
        redisConnectWithTimeout(address.host.c_str(), address.port, timeout);
    if (context_ == nullptr || context_->err != 0) {
      const std::string problem =
          context_ == nullptr ? "no memory" : context_->errstr;
      if (context_ != nullptr) redisFree(context_);
      fail(ErrorKind::kIo, name_, "cannot be reached: " + problem);
    }
    redisSetTimeout(context_, timeout);
    try {
      introduce(address);
    } catch (...) {
      redisFree(context_);
      throw;
    }
  }
  ~Connection() { redisFree(context_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const RedisCommand& command) {
    std::vector<const char*> arguments;
    std::vector<size_t> sizes;
    for (const std::string& argument : command) {
      arguments.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    redisAppendCommandArgv(context_, static_cast<int>(command.size()),
                           arguments.data(), sizes.data());
  }

  RedisReply receive() {
    void* reply = nullptr;
    if (redisGetReply(context_, &reply) != REDIS_OK || reply == nullptr) {
      is_away_ = true;
      fail(ErrorKind::kIo, name_,
           std::string("does not answer: ") + context_->errstr);
    }
    const RedisReply value = to_value(*static_cast<redisReply*>(reply));
    freeReplyObject(reply);
    // What follows the first word of an error may quote the command.
    if (value.kind == RedisReply::Kind::kError) refuse(value.text);
    return value;
  }

  // Whether what failed on it would fail on another one too: not so where
  // Redis is there and refused what was asked (memory may be full).
  bool is_away() const { return is_away_; }

 private:
  [[noreturn]] void refuse(const std::string& problem) {
    const std::string word = problem.substr(0, problem.find(' '));
    for (const char* away : {"READONLY", "LOADING", "MASTERDOWN", "NOAUTH",
                             "NOPERM", "MOVED", "ASK", "CLUSTERDOWN"})
      is_away_ = is_away_ || word == away;
    if (word == "MOVED" || word == "ASK")
      throw RedisRefusal(ErrorKind::kIo, name_ + ": " + kCluster);
    if (word == "OOM")
      fail(ErrorKind::kIo, name_,
           "refuses as its memory is full (maxmemory), removing streams frees "
           "some");
    if (word == "NOAUTH" || word == "WRONGPASS" || word == "NOPERM")
      throw RedisRefusal(ErrorKind::kIo,
                         name_ + ": refuses this user: " + word);
    if (word == "ERR")
      throw RedisRefusal(ErrorKind::kIo, name_ + ": refuses: " + problem);
    fail(ErrorKind::kIo, name_, "refuses: " + problem);
  }

  void introduce(const RedisAddress& address) {
    if (!address.password.empty()) {
      send(address.user.empty()
               ? RedisCommand{"AUTH", address.password}
               : RedisCommand{"AUTH", address.user, address.password});
      receive();
    }
    if (address.database != 0) {
      send({"SELECT", std::to_string(address.database)});
      receive();
    }
  }

  const std::string name_;
  redisContext* context_ = nullptr;
  bool is_away_ = false;
};

RedisClient::RedisClient(RedisAddress address, int64_t timeout_ms)
    : address_(std::move(address)), timeout_ms_(timeout_ms) {}
RedisClient::~RedisClient() = default;

std::unique_ptr<RedisClient::Connection> RedisClient::take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>(address_, timeout_ms_);
}

void RedisClient::give_back(std::unique_ptr<Connection> connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(connection));
}

std::vector<RedisReply> RedisClient::run_on(
    Connection& connection, const std::vector<RedisCommand>& commands) {
  for (const RedisCommand& command : commands)
    connection.send(command);
  std::vector<RedisReply> replies;
  for (size_t i = 0; i < commands.size(); ++i)
    replies.push_back(connection.receive());
  return replies;
}

std::vector<RedisReply> RedisClient::run(
    const std::vector<RedisCommand>& commands) {
  if (away_) fail(ErrorKind::kIo, address_.text(), "cannot be reached");
  std::unique_ptr<Connection> connection;
  try {
    connection = take();
    auto replies = run_on(*connection, commands);
    give_back(std::move(connection));
    return replies;
  } catch (const std::exception& error) {
    if (!connection || connection->is_away()) set_away(error);
    throw;
  }
}

void RedisClient::set_away(const std::exception& error) {
  const std::string begin = address_.text() + ": ";
  const std::lock_guard<std::mutex> lock(mutex_);
  problem_ = first_line(error);
  if (problem_.rfind(begin, 0) == 0) problem_.erase(0, begin.size());
  away_ = true;
  // The others lead to the same Redis, which may have been replaced.
  idle_.clear();
}

std::string RedisClient::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

// The last two commands change nothing, and need the rights that streams do.
void RedisClient::require_usable(Connection& connection) {
  const std::string name = address_.text() + ": ";
  const auto replies =
      run_on(connection,
             {{"INFO", "server"}, {"INFO", "replication"}, {"INFO", "memory"}});
  if (value_in(replies[0].text, "redis_mode") == "cluster")
    throw RedisRefusal(ErrorKind::kUnsupported, name + kCluster);
  if (value_in(replies[1].text, "role") == "slave")
    fail(ErrorKind::kIo, address_.text(), "is a replica, expected a primary");
  const std::string policy = value_in(replies[2].text, "maxmemory_policy");
  const std::string limit = value_in(replies[2].text, "maxmemory");
  if (!limit.empty() && limit != "0" && policy != "noeviction")
    throw RedisRefusal(ErrorKind::kUnsupported,
                       name + "has maxmemory-policy " + policy +
                           ", which drops streams when its memory is full, "
                           "expected noeviction");
  run_on(connection,
         {{"EVAL", "return redis.call('DEL', KEYS[1])", "1", "sotta:probe"},
          {"WAIT", "0", "0"}});
}

void RedisClient::probe() {
  try {
    auto connection = std::make_unique<Connection>(address_, timeout_ms_);
    require_usable(*connection);
    give_back(std::move(connection));
  } catch (const std::exception& error) {
    set_away(error);
    throw;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  problem_.clear();
  away_ = false;
}

}  // namespace sotta
