#include "data/torch/bounded_json.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "data/formats/printable.h"

namespace sotta {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;
constexpr size_t kMostValues = 1 << 22;

// Counts what a tree would hold before there is one.
class Bounds : public nlohmann::json_sax<Json> {
 public:
  explicit Bounds(const std::string& subject) : subject_(subject) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override {
    return count();
  }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool key(string_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string&,
                   const Json::exception&) override {
    fail(ErrorKind::kBadFormat, subject_,
         "expected JSON in UTF-8, it is not at byte " +
             std::to_string(position));
  }

 private:
  bool count() {
    if (++values_ > kMostValues)
      fail(ErrorKind::kBadFormat, subject_,
           "expected JSON of at most " + std::to_string(kMostValues) +
               " values");
    return true;
  }
  bool open() {
    if (++depth_ > kDeepest)
      fail(
          ErrorKind::kBadFormat, subject_,
          "expected JSON nested at most " + std::to_string(kDeepest) + " deep");
    return count();
  }
  bool close() {
    --depth_;
    return true;
  }

  const std::string& subject_;
  size_t values_ = 0;
  int depth_ = 0;
};

}  // namespace

Json parse_bounded_json(std::string_view text, const std::string& subject) {
  Bounds bounds(subject);
  Json::sax_parse(text.data(), text.data() + text.size(), &bounds);
  return Json::parse(text.data(), text.data() + text.size());
}

void JsonPlace::expected(const char* what) const {
  fail(ErrorKind::kBadFormat, *subject_,
       std::string("expected ") + what + ", got " +
           printable(json_->dump(-1, ' ', true)));
}

bool JsonPlace::has(const char* key) const {
  if (!json_->is_object()) expected("an object");
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

JsonPlace JsonPlace::at(const char* key) const {
  if (!has(key))
    fail(ErrorKind::kBadFormat, *subject_,
         "expected an entry " + printable(key) + ", got " +
             printable(json_->dump(-1, ' ', true)));
  return {(*json_)[key], *subject_};
}

std::string JsonPlace::text() const {
  if (!json_->is_string()) expected("text");
  return json_->get<std::string>();
}

int64_t JsonPlace::integer() const {
  const bool fits =
      json_->is_number_integer() &&
      !(json_->is_number_unsigned() &&
        json_->get<uint64_t>() >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits) expected("a whole number of 64 bits");
  return json_->get<int64_t>();
}

bool JsonPlace::boolean() const {
  if (!json_->is_boolean()) expected("true or false");
  return json_->get<bool>();
}

double JsonPlace::real() const {
  if (json_->is_number()) return json_->get<double>();
  if (*json_ == "Infinity") return std::numeric_limits<double>::infinity();
  if (*json_ == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (*json_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
  expected("a number");
}

void JsonPlace::each(const std::function<void(const JsonPlace&)>& visit) const {
  if (!json_->is_array()) expected("a list");
  for (const Json& item : *json_)
    visit({item, *subject_});
}

void JsonPlace::each_entry(
    const std::function<void(const std::string&, const JsonPlace&)>& visit)
    const {
  if (!json_->is_object()) expected("an object");
  for (const auto& [key, value] : json_->items())
    visit(key, {value, *subject_});
}

std::pair<std::string, JsonPlace> JsonPlace::choice() const {
  if (!json_->is_object() || json_->size() != 1)
    expected("an object with one entry");
  return {json_->begin().key(), {json_->begin().value(), *subject_}};
}

}  // namespace sotta
