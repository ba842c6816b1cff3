#include "sotta/core/options.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>

#include "sotta/core/error.h"

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

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

// Levenshtein's distance, one row at a time.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
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
    if (int64_t number = 0; parse_whole(text, number)) return number;
  } else {
    if (double number = 0; parse_whole(text, number)) return number;
  }
  fail(ErrorKind::kInvalid, name,
       std::string("expected ") + type_name(like) + ", got \"" + text + "\"");
}

void fail_unknown_name(const std::string& subject, const std::string& name,
                       const std::vector<std::string>& known) {
  std::string problem = "unknown name \"" + name + "\"";
  const auto nearest =
      std::min_element(known.begin(), known.end(),
                       [&](const std::string& a, const std::string& b) {
                         return edit_distance(a, name) < edit_distance(b, name);
                       });
  if (nearest != known.end()) {
    const bool close = edit_distance(*nearest, name) <= 1 + name.size() / 3;
    problem += close ? ", did you mean \"" + *nearest + "\"?" : ", expected ";
    if (!close)
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
       name + ": expected " + type_name(like) + ", got " + to_text(value));
}

}  // namespace sotta
