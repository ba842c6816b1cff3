#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "serve/fleet/redis_store.h"
#include "serve/http/http_client.h"

namespace CLI {
class App;
}

namespace sotta::cli {

// How a server takes part in a fleet, whose streams are in a Redis.
struct FleetFlags {
  std::string advertise;
  std::optional<int64_t> lease_seconds, min_replicas;
  std::string password_file;
};
void add_fleet_flags(CLI::App& command, FleetFlags& flags);

// Throws Error(kInvalid) unless they fit each other and --state.
void check_fleet_flags(const FleetFlags& flags, const std::string& state);

// The store that a fleet shares; none if `state` is a folder. Throws Error.
std::shared_ptr<const RedisStore> open_fleet(const FleetFlags& flags,
                                             const std::string& state);

// Without user and password.
std::string shown_state(const std::string& state);

}  // namespace sotta::cli
