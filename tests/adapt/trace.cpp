#include "tests/adapt/trace.h"

#include <nlohmann/json.hpp>

// Apart from trace.h, so that one source and not every golden test compiles the
// JSON parser.

namespace sotta::testing {
namespace {

OptionValue to_option(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.get<std::string>();
}

OptionMap read_options(const std::string& text) {
  OptionMap map;
  const auto options = nlohmann::json::parse(text);
  for (const auto& [name, value] : options.items())
    map[name] = to_option(value);
  return map;
}

}  // namespace

Trace::Trace(const std::string& name)
    : golden_("methods/" + name),
      options_(read_options(golden_.metadata("options"))),
      deviations_(nlohmann::json::parse(golden_.metadata("float64_deviation"))
                      .get<std::map<std::string, double>>()) {}

MethodContext Trace::context() const {
  MethodContext context;
  context.model = golden_network();
  context.rng =
      Rng(static_cast<uint64_t>(std::get<int64_t>(options_.at("seed"))));
  context.update_interval = std::get<int64_t>(options_.at("update_interval"));
  return context;
}

OptionMap Trace::options(const std::vector<std::string>& left_out) const {
  OptionMap map = options_;
  for (const char* name : {"seed", "update_interval"})
    map.erase(name);
  for (const std::string& name : left_out)
    map.erase(name);
  return map;
}

::testing::AssertionResult Trace::matches(const std::string& name,
                                          int64_t window,
                                          const at::Tensor& found) const {
  const auto deviation = deviations_.find(name);
  const double known = deviation == deviations_.end() ? 0 : deviation->second;
  auto result = close(found.cpu(), at(name, window), 1e-5 + 10 * known, 1e-4);
  if (result) return result;
  return result << " (" << name << " of window " << window << ")";
}

}  // namespace sotta::testing
