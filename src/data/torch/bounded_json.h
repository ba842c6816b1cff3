#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace sotta {

// JSON from a file that anybody may have written. Throws Error(kBadFormat)
// naming `subject` if the text is no JSON in UTF-8, is nested deeper than 64,
// or has more values than a network of a million nodes needs: its tree would
// take many times the memory of the text.
nlohmann::json parse_bounded_json(std::string_view text,
                                  const std::string& subject);

// One place in such JSON, and how it is called in messages. What is looked for
// and not there is Error(kBadFormat).
class JsonPlace {
 public:
  // The JSON and the subject must outlive all places in it.
  JsonPlace(const nlohmann::json& json, const std::string& subject)
      : json_(&json), subject_(&subject) {}

  bool has(const char* key) const;  // and is not null
  JsonPlace at(const char* key) const;

  std::string text() const;
  int64_t integer() const;
  bool boolean() const;
  double real() const;  // also "Infinity", "-Infinity" and "NaN"

  // Calls visit(JsonPlace) for each element of a list.
  void each(const std::function<void(const JsonPlace&)>& visit) const;

  // Calls visit(key, JsonPlace) for each entry of an object.
  void each_entry(const std::function<void(const std::string&,
                                           const JsonPlace&)>& visit) const;

  // The only entry of an object: how torch.export writes a union.
  std::pair<std::string, JsonPlace> choice() const;

 private:
  [[noreturn]] void expected(const char* what) const;

  const nlohmann::json* json_;
  const std::string* subject_;
};

}  // namespace sotta
