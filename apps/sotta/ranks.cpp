#include "ranks.h"

#include <cstdlib>
#include <string>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta::cli {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

int64_t number_in(const std::string& name) {
  return std::get<int64_t>(
      parse_option(name, variable(name), OptionValue(int64_t{0})));
}

struct Launcher {
  const char* rank;
  const char* world;
};

constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
};

constexpr const char* kRestarts = "TORCHELASTIC_RESTART_COUNT";

// The first of Slurm's "node[03-05,9],other": "node03".
std::string first_host(const std::string& list) {
  const auto bracket = list.find('[');
  const std::string head = list.substr(0, list.find(','));
  if (bracket == std::string::npos || bracket > head.size()) return head;
  const auto end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

// Where rank 0 runs.
std::string address_of(int64_t world) {
  if (const auto address = variable("MASTER_ADDR"); !address.empty())
    return address;
  for (const char* nodes : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (const auto list = variable(nodes); !list.empty())
      return first_host(list);
  const std::string local = "OMPI_COMM_WORLD_LOCAL_SIZE";
  if (!variable(local).empty() && number_in(local) == world) return "127.0.0.1";
  fail(ErrorKind::kInvalid, "MASTER_ADDR",
       "expected the address of the machine that rank 0 runs on");
}

}  // namespace

std::optional<RankOptions> ranks_from_environment() {
  for (const Launcher& launcher : kLaunchers) {
    if (variable(launcher.rank).empty() || variable(launcher.world).empty())
      continue;
    RankOptions options;
    options.rank = number_in(launcher.rank);
    options.world = number_in(launcher.world);
    if (options.world <= 1) return std::nullopt;
    options.address = address_of(options.world);
    if (!variable("MASTER_PORT").empty())
      options.port = number_in("MASTER_PORT");
    // torchrun's agent may have opened the port already.
    options.hosts = variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
    if (!variable(kRestarts).empty()) options.restarts = number_in(kRestarts);
    return options;
  }
  return std::nullopt;
}

}  // namespace sotta::cli
