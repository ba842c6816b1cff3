#include "serve/protocol/json_input.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {
namespace {

[[noreturn]] void refuse(const std::string& subject,
                         const std::string& problem) {
  throw RequestError(HttpStatus::kBadRequest, subject, problem);
}

}  // namespace

Json parse_client_json(const std::string& text, int64_t depth) {
  const auto check_depth = [depth](int level, Json::parse_event_t event,
                                   const Json&) {
    if ((event == Json::parse_event_t::object_start ||
         event == Json::parse_event_t::array_start) &&
        level >= depth)
      refuse("request",
             "expected JSON nested at most " + std::to_string(depth) + " deep");
    return true;
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::exception&) {
    // The library's message quotes the text, which may hold anything.
    refuse("request", "expected JSON");
  }
}

void check_keys(const Json& object, const std::string& subject,
                std::initializer_list<const char*> known) {
  if (!object.is_object()) refuse(subject, "expected a JSON object");
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, unused] : object.items()) {
    try {
      require_one_of(subject, key, names);
    } catch (const Error& error) {
      const std::string sentence = first_line(error);
      refuse(subject, sentence.substr(subject.size() + 2));
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
