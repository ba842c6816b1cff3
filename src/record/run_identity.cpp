#include "record/run_identity.h"

#include <cstdio>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/rng.h"

namespace sotta {
namespace {

// As a file of records has it: what is not UTF-8 is replaced there.
std::string as_written(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(
      Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

std::string run_identity(const RunRecord& record) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  };
  add("verb", record.verb);
  add("dataset", record.dataset);
  add("scenario", record.scenario);
  add("corruption", record.corruption);
  add("severity", std::to_string(record.severity));
  add("source", record.corruption_source);
  if (record.options.count(kModelChecksum) == 0) add("model", record.model);
  add("method", record.method);
  add("variant", record.variant);
  add("preset", record.preset);
  add("seed", std::to_string(record.seed));
  for (const auto& [name, value] : record.options)
    add(name, to_text(value));
  return as_written(text);
}

std::string short_identity(const std::string& identity) {
  uint64_t hash = identity.size();
  for (const char letter : identity)
    hash = mix64(hash ^ static_cast<unsigned char>(letter));
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

std::vector<RunRecord> last_of_each(std::vector<RunRecord> records) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < records.size(); ++i)
    last[run_identity(records[i])] = i;
  std::vector<RunRecord> kept;
  for (size_t i = 0; i < records.size(); ++i)
    if (last.at(run_identity(records[i])) == i)
      kept.push_back(std::move(records[i]));
  return kept;
}

}  // namespace sotta
