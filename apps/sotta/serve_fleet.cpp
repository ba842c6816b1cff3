#include "serve_fleet.h"

#include <fstream>

#include <CLI/CLI.hpp>

#include "sotta/core/error.h"

#include "core/checks.h"

namespace sotta::cli {
namespace {

// The first line.
std::string read_password(const std::string& file) {
  std::ifstream in(file);
  std::string password;
  require(std::getline(in, password) && !password.empty(), file,
          "expected a password in its first line");
  return password;
}

}  // namespace

void add_fleet_flags(CLI::App& command, FleetFlags& flags) {
  command.add_option("--advertise", flags.advertise,
                     "http://HOST:PORT that other servers reach this one at; "
                     "with Redis");
  command.add_option("--lease-seconds", flags.lease_seconds,
                     "a stream of a server that is gone goes on elsewhere "
                     "after so long; 4");
  command.add_option("--min-replicas", flags.min_replicas,
                     "a snapshot is durable once so many replicas of Redis "
                     "have it; 0");
  command.add_option("--state-password", flags.password_file,
                     "file whose first line is the password for Redis");
}

void check_fleet_flags(const FleetFlags& flags, const std::string& state) {
  if (is_redis_url(state)) {
    parse_redis_url(state);
    require(!flags.advertise.empty(), "--advertise",
            "expected it with Redis: http://HOST:PORT that other servers "
            "reach this one at");
    parse_server_address(flags.advertise, "--advertise");
    require_within("--lease-seconds", flags.lease_seconds.value_or(4), 1, 3600);
    require_within("--min-replicas", flags.min_replicas.value_or(0), 0, 100);
    return;
  }
  const auto refuse = [](bool given, const char* flag) {
    require(!given, flag, "expected it with --state redis://HOST:PORT alone");
  };
  refuse(!flags.advertise.empty(), "--advertise");
  refuse(flags.lease_seconds.has_value(), "--lease-seconds");
  refuse(flags.min_replicas.has_value(), "--min-replicas");
  refuse(!flags.password_file.empty(), "--state-password");
}

std::shared_ptr<const RedisStore> open_fleet(const FleetFlags& flags,
                                             const std::string& state) {
  if (!is_redis_url(state)) return nullptr;
  FleetOptions options;
  options.redis = parse_redis_url(state);
  options.advertise = flags.advertise;
  options.lease_ms = 1000 * flags.lease_seconds.value_or(4);
  options.min_replicas = flags.min_replicas.value_or(0);
  if (!flags.password_file.empty()) {
    require(options.redis.password.empty(), "--state-password",
            "expected it without a password in --state");
    options.redis.password = read_password(flags.password_file);
  }
  return std::make_shared<const RedisStore>(options);
}

std::string shown_state(const std::string& state) {
  return is_redis_url(state) ? parse_redis_url(state).text() : state;
}

}  // namespace sotta::cli
