#include "sotta/record/run_record.h"

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

namespace sotta {
namespace {

using Json = nlohmann::ordered_json;

// Raised when a field changes its meaning; new fields do not raise it.
constexpr int64_t kFormat = 2;

Json to_value(const OptionMap& options) {
  Json object = Json::object();
  for (const auto& [name, value] : options)
    std::visit([&, &key = name](const auto& plain) { object[key] = plain; },
               value);
  return object;
}

template <class T>
const T& to_value(const T& field) {
  return field;
}

// JSON has no NaN; it is written as null.
void from_value(const Json& value, double& number) {
  number = value.is_null() ? RunRecord::kNone : value.get<double>();
}

void from_value(const Json& value, Series& series) {
  series.clear();
  for (const auto& [name, items] : value.items()) {
    auto& numbers = series[name];
    for (const Json& item : items.get_ref<const Json::array_t&>())
      from_value(item, numbers.emplace_back());
  }
}

void from_value(const Json& value, OptionMap& options) {
  for (const auto& [name, item] : value.items()) {
    if (item.is_boolean())
      options[name] = item.get<bool>();
    else if (item.is_number_integer())
      options[name] = item.get<int64_t>();
    else if (item.is_number())
      options[name] = item.get<double>();
    else
      options[name] = item.get<std::string>();
  }
}

template <class T>
void from_value(const Json& value, T& field) {
  value.get_to(field);
}

}  // namespace

std::string to_json(const RunRecord& record) {
  Json object;
  object["format"] = kFormat;
  auto copy = record;
  copy.visit([&](const char* name, const auto& field) {
    object[name] = to_value(field);
  });
  return object.dump();
}

RunRecord parse_record(const std::string& line, const std::string& subject) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    fail(ErrorKind::kBadFormat, subject, "expected a JSON object");
  if (const Json format = object.value("format", Json("none"));
      format != Json(kFormat))
    fail(ErrorKind::kBadFormat, subject,
         "expected a record of format " + std::to_string(kFormat) + ", got " +
             format.dump() +
             (format.is_number() ? "; another version of sotta wrote it, run "
                                   "it again into a new folder"
                                 : ""));

  RunRecord record;
  size_t known = 1;  // "format"
  record.visit([&](const char* name, auto& field) {
    if (!object.contains(name))
      fail(ErrorKind::kBadFormat, subject,
           std::string("expected a field \"") + name + "\"");
    try {
      from_value(object[name], field);
    } catch (const nlohmann::json::exception&) {
      fail(ErrorKind::kBadFormat, subject,
           std::string("field \"") + name + "\" has an unexpected type, got " +
               object[name].dump());
    }
    ++known;
  });
  if (object.size() != known)
    fail(ErrorKind::kBadFormat, subject,
         "has fields this version does not know");
  return record;
}

}  // namespace sotta
