#include <algorithm>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/threads.h"
#include "sotta/core/version.h"
#include "sotta/corrupt/corruption.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"
#include "sotta/stream/scenario.h"

#include "commands.h"
#include "data/sets/catalog.h"
#include "models/named_network.h"
#include "process.h"

namespace sotta::cli {
namespace {

using Json = nlohmann::ordered_json;

Json collect() {
  Json info;
  info["version"] = version();
  info["libtorch"] = libtorch_version();
  info["compiler"] = SOTTA_COMPILER;
  info["cores"] = available_cores();
  info["devices"] = available_devices();
  info["engines"] = available_engines();
  info["parts"] = {{"zlib", SOTTA_WITH_ZLIB == 1},
                   {"jpeg", SOTTA_WITH_JPEG == 1},
                   {"png", SOTTA_WITH_PNG == 1},
                   {"c10d", SOTTA_WITH_C10D == 1},
                   {"highway", SOTTA_WITH_HWY == 1},
                   {"beast", SOTTA_WITH_BEAST == 1},
                   {"openssl", SOTTA_WITH_OPENSSL == 1},
                   {"hiredis", SOTTA_WITH_HIREDIS == 1}};
  info["methods"] = method_names();
  info["presets"] = preset_names();
  info["scenarios"] = scenario_names();
  info["models"] = network_names();
  info["corruptions"] = corruption_names();
  info["datasets"] = Json::array();
  for (const auto& entry : known_datasets())
    info["datasets"].push_back(entry.name);
  return info;
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, item] : value.items()) {
    text += text.empty() ? "" : ", ";
    text += value.is_object()
                ? name + (item.get<bool>() ? ": yes" : ": not in this build")
                : value_text(item);
  }
  return text;
}

void run(bool as_json) {
  const Json info = collect();
  if (as_json) {
    std::cout << info.dump(2) << "\n";
    return;
  }
  for (const auto& [name, value] : info.items())
    std::cout << name
              << std::string(13 - std::min<size_t>(name.size(), 12), ' ')
              << value_text(value) << "\n";
}

}  // namespace

void add_info(CLI::App& program) {
  auto* command = program.add_subcommand(
      "info", "versions, devices, optional parts, and every name there is");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "print JSON");
  command->callback([as_json] { run(*as_json); });
}

}  // namespace sotta::cli
