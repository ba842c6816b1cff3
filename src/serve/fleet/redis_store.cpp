#include "serve/fleet/redis_store.h"

#include <algorithm>
#include <random>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/fleet/lease_scripts.h"
#include "serve/fleet/redis_storage.h"

namespace sotta {
namespace {

std::string draw_owner() {
  std::random_device device;
  std::string owner;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", device());
    owner += digits;
  }
  return owner;
}

}  // namespace

FleetContext::FleetContext(const FleetOptions& fleet_options)
    : options(fleet_options),
      owner(draw_owner()),
      client(options.redis),
      keeper(client, owner, options.advertise, options.lease_ms) {}

RedisStore::RedisStore(const FleetOptions& options)
    : context_(std::make_shared<FleetContext>(options)) {
  try {
    context_->client.probe();
  } catch (const RedisRefusal&) {
    throw;
  } catch (const Error& error) {
    log(LogLevel::kWarning, first_line(error) + "; streams wait for it");
  }
  context_->keeper.take_address();
}

std::unique_ptr<StreamStorage> RedisStore::open(
    const std::string& model, const std::string& stream) const {
  return std::make_unique<RedisStorage>(context_, model, stream);
}

std::vector<RedisStore::Listed> RedisStore::list(const std::string& model,
                                                 const std::string& after,
                                                 size_t limit) const {
  RedisClient& client = context_->client;
  const auto names = client.run({"ZRANGEBYLEX", redis_index(model),
                                 after.empty() ? "-" : "(" + after, "+",
                                 "LIMIT", "0", std::to_string(limit)});
  std::vector<RedisCommand> commands;
  for (const RedisReply& name : names.list) {
    const std::string key = redis_key(model, name.text);
    commands.push_back({"HMGET", key + ":stream", "number", "next_seq",
                        "frozen", "durable", "durable_seq"});
    commands.push_back({"HGET", key + ":lease", "address"});
  }
  if (commands.empty()) return {};
  const auto replies = client.run(commands);
  const bool all_durable = context_->options.min_replicas == 0;
  std::vector<Listed> listed;
  for (size_t i = 0; i < names.list.size(); ++i) {
    const auto& fields = replies[2 * i].list;
    Listed stream;
    stream.name = names.list[i].text;
    stream.address = replies[2 * i + 1].text;
    stream.snapshot = number_in(fields.at(0));
    stream.next_seq = number_in(fields.at(1));
    stream.frozen = fields.at(2).text == "1";
    stream.durable_seq =
        all_durable || number_in(fields.at(3)) >= stream.snapshot
            ? stream.next_seq
            : std::min(stream.next_seq, number_in(fields.at(4)));
    listed.push_back(std::move(stream));
  }
  return listed;
}

// Renewals come after a third of a lease. Where Redis does not answer the lease
// lapses by itself.
void RedisStore::end_lease(const std::string& model, const std::string& stream,
                           const std::string& address) const {
  try {
    context_->client.run(RedisCommand{
        "EVAL", kEndScript, "1", redis_key(model, stream) + ":lease", address,
        std::to_string(context_->options.lease_ms / 2)});
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, first_line(error));
  }
}

FleetCounts RedisStore::counts() const {
  return {static_cast<int64_t>(context_->keeper.held()), context_->claims,
          context_->lost, context_->fenced, context_->client.is_away()};
}

std::string RedisStore::problem() const {
  return context_->client.problem();
}

bool RedisStore::holds(const std::string& model,
                       const std::string& stream) const {
  return context_->keeper.holds(redis_key(model, stream));
}

}  // namespace sotta
