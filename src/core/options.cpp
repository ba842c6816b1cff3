#include "sotta/core/options.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "sotta/core/error.h"

#include "core/nearest_name.h"

namespace sotta {
namespace {

const char* type_name(const OptionValue& value) {
  switch (value.index()) {
    case 0:
      return "true or false";
    case 1:
      return "a whole number";
    case 2:
      return "a number";
    default:
      return "text";
  }
}

// Text and numbers of another type can be told from what they look like.
std::string shown(const OptionValue& value) {
  const std::string text = to_text(value);
  if (std::holds_alternative<std::string>(value)) return '"' + text + '"';
  const bool looks_whole = text.find_first_not_of("-0123456789") == text.npos;
  return std::holds_alternative<double>(value) && looks_whole ? text + ".0"
                                                              : text;
}

// Whether all of the text is a number; one that is too large throws.
template <class Number>
bool parse_whole(const std::string& name, const std::string& text,
                 Number& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  require(result.ec != std::errc::result_out_of_range || result.ptr != end,
          name, "expected a number that fits 64 bits, got \"" + text + "\"");
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string to_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value))
    return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  char buffer[32];
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, std::get<double>(value));
  return std::string(buffer, result.ptr);
}

OptionValue parse_option(const std::string& name, const std::string& text,
                         const OptionValue& like) {
  if (std::holds_alternative<std::string>(like)) return text;
  if (std::holds_alternative<bool>(like)) {
    if (text == "true" || text == "on" || text == "1") return true;
    if (text == "false" || text == "off" || text == "0") return false;
  } else if (std::holds_alternative<int64_t>(like)) {
    if (int64_t number = 0; parse_whole(name, text, number)) return number;
  } else {
    if (double number = 0; parse_whole(name, text, number)) return number;
  }
  fail(ErrorKind::kInvalid, name,
       std::string("expected ") + type_name(like) + ", got \"" + text + "\"");
}

void fail_unknown_name(const std::string& subject, const std::string& name,
                       const std::vector<std::string>& known) {
  std::string problem = "unknown name \"" + name + "\"";
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) {
    problem += ", did you mean \"" + nearest + "\"?";
  } else if (!known.empty()) {
    problem += ", expected ";
    for (const auto& choice : known)
      problem += (&choice == &known.front() ? "" : ", ") + choice;
  }
  fail(ErrorKind::kInvalid, subject, problem);
}

void require_one_of(const std::string& subject, const std::string& name,
                    const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    fail_unknown_name(subject, name, known);
}

void check_known_names(const std::string& subject, const OptionMap& values,
                       const std::vector<OptionField>& fields) {
  std::vector<std::string> known;
  known.reserve(fields.size());
  for (const auto& field : fields)
    known.push_back(field.name);
  for (const auto& [name, value] : values)
    require_one_of(subject, name, known);
}

OptionValue convert_option(const std::string& subject, const std::string& name,
                           const OptionValue& value, const OptionValue& like) {
  if (value.index() == like.index()) return value;
  const auto* whole = std::get_if<int64_t>(&value);
  if (whole && std::holds_alternative<double>(like))
    return static_cast<double>(*whole);
  fail(ErrorKind::kInvalid, subject,
       name + ": expected " + type_name(like) + ", got " + shown(value));
}

}  // namespace sotta
