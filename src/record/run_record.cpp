#include "sotta/record/run_record.h"

#include <cmath>
#include <utility>

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

// Whether the figures can be those of a run; a damaged or edited record would
// spoil every average it is part of.
class SenseCheck {
 public:
  explicit SenseCheck(const std::string& subject) : subject_(subject) {}

  void within(const char* name, int64_t value, int64_t least,
              int64_t most) const {
    if (value < least || value > most)
      complain(
          name, std::to_string(value),
          "expected " + std::to_string(least) + " to " + std::to_string(most));
  }

  void at_least_zero(const char* name, double value) const {
    if (!(value >= 0)) complain(name, to_text(value), "expected 0 or more");
  }

  // NaN stands for a figure that does not exist.
  void percent(const char* name, double value) const {
    if (value < 0 || value > 100)
      complain(name, to_text(value), "expected 0 to 100 percent");
  }

  [[noreturn]] void complain(const std::string& name, const std::string& value,
                             const std::string& expected) const {
    fail(ErrorKind::kBadFormat, subject_,
         "makes no sense: \"" + name + "\" is " + value + ", " + expected);
  }

 private:
  const std::string& subject_;
};

void check_sense(const RunRecord& record, const std::string& subject) {
  constexpr int64_t kMany = std::numeric_limits<int64_t>::max();
  constexpr double kRounding = 0.01;  // of figures that were shortened
  const SenseCheck check(subject);
  check.within("severity", record.severity, 0, 5);
  check.within("samples", record.samples, 0, kMany);
  check.within("correct", record.correct, 0, record.samples);
  check.within("foreign", record.foreign, 0, kMany);
  check.within("admitted", record.admitted, 0, record.samples);
  check.within("admitted_foreign", record.admitted_foreign, 0, record.foreign);
  check.percent("accuracy", record.accuracy);
  check.percent("macro_f1", record.macro_f1);
  check.percent("calibration_error", record.calibration_error);
  check.percent("auroc", record.auroc);
  check.percent("fpr95", record.fpr95);
  check.percent("screen_auroc", record.screen_auroc);
  check.percent("screen_fpr95", record.screen_fpr95);
  check.at_least_zero("seconds", record.seconds);
  check.at_least_zero("adapt_seconds", record.adapt_seconds);
  check.at_least_zero("images_per_second", record.images_per_second);
  check.within("peak_memory_bytes", record.peak_memory_bytes, 0, kMany);
  check.within("threads", record.threads, 0, kMany);

  const double share = record.samples == 0
                           ? 0
                           : 100.0 * static_cast<double>(record.correct) /
                                 static_cast<double>(record.samples);
  if (!(std::abs(record.accuracy - share) <= kRounding))
    check.complain("accuracy", to_text(record.accuracy),
                   "expected " + to_text(share) + ", for " +
                       std::to_string(record.correct) + " of " +
                       std::to_string(record.samples) + " are correct");
}

// Options of earlier versions get the names they have now.
void rename_old_options(RunRecord& record) {
  if (record.verb != "train") return;
  auto option = record.options.extract("replay");
  if (option.empty()) return;
  option.key() = "cuda_graphs";
  record.options.insert(std::move(option));
}

// What a record is about has no default.
void require_default(const std::string& name, const std::string& subject) {
  for (const char* needed : {"method", "samples", "correct", "accuracy"})
    if (name == needed)
      fail(ErrorKind::kBadFormat, subject, "expected a field \"" + name + "\"");
}

}  // namespace

std::string to_json(const RunRecord& record) {
  Json object;
  object["format"] = kFormat;
  auto copy = record;
  copy.visit([&](const char* name, const auto& field) {
    object[name] = to_value(field);
  });
  for (const auto& [name, text] : record.unknown)
    object[name] = Json::parse(text);
  // Names of files and variants need not be UTF-8.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
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
  for (const auto& [name, value] : object.items())
    record.unknown[name] = value.dump();
  record.unknown.erase("format");
  record.visit([&](const char* name, auto& field) {
    if (!object.contains(name)) return require_default(name, subject);
    record.unknown.erase(name);
    try {
      from_value(object[name], field);
    } catch (const nlohmann::json::exception&) {
      fail(ErrorKind::kBadFormat, subject,
           std::string("field \"") + name + "\" has an unexpected type, got " +
               object[name].dump());
    }
  });
  rename_old_options(record);
  check_sense(record, subject);
  return record;
}

}  // namespace sotta
