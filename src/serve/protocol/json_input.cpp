#include "serve/protocol/json_input.h"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {

namespace {

// Looks at a text before it is parsed: with a callback the library's parser
// looks through a whole list at the end of each of its objects.
class TextCheck : public nlohmann::json_sax<Json> {
 public:
  explicit TextCheck(int64_t depth) : depth_(depth) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    // Whoever else reads it might take the other one.
    if (!keys_.back().insert(name).second)
      refuse("request", "expected each key of an object once");
    return true;
  }

  bool parse_error(size_t, const std::string&,
                   const Json::exception&) override {
    return false;
  }

 private:
  bool open() {
    if (static_cast<int64_t>(keys_.size()) >= depth_)
      refuse("request", "expected JSON nested at most " +
                            std::to_string(depth_) + " deep");
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const int64_t depth_;
  std::vector<std::set<std::string>> keys_;  // of what is open
};

}  // namespace

Json parse_client_json(std::string_view text, int64_t depth) {
  TextCheck check(depth);
  // The library's message would quote the text, which may hold anything.
  if (!Json::sax_parse(text.begin(), text.end(), &check))
    refuse("request", "expected JSON");
  return Json::parse(text.begin(), text.end());
}

void check_keys(const Json& object, const std::string& subject,
                std::initializer_list<const char*> known) {
  if (!object.is_object()) refuse(subject, "expected a JSON object");
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, unused] : object.items()) {
    try {
      require_one_of(subject, key, names);
    } catch (const Error& error) {
      throw RequestError(HttpStatus::kBadRequest, first_line(error));
    }
  }
}

const Json& find_or(const Json& object, const char* key,
                    const Json& otherwise) {
  const auto found = object.find(key);
  return found == object.end() ? otherwise : *found;
}

bool read_bool(const Json& object, const char* key, bool otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (!found->is_boolean()) refuse(key, "expected true or false");
  return found->get<bool>();
}

int64_t read_integer(const Json& object, const char* key, int64_t low,
                     int64_t high, int64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() ||
                     found->get<uint64_t>() <= static_cast<uint64_t>(high)) &&
                    found->get<int64_t>() >= low &&
                    found->get<int64_t>() <= high;
  if (!fits)
    refuse(key, "expected a whole number from " + std::to_string(low) + " to " +
                    std::to_string(high));
  return found->get<int64_t>();
}

std::string read_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) refuse(key, "expected a string");
  return found->get<std::string>();
}

}  // namespace sotta
