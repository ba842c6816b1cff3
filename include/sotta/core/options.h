#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace sotta {

// An options struct lists its fields once, in a member
//
//   template <class Visitor>
//   void visit(Visitor&& v) {
//     v("memory_capacity", memory_capacity, "samples kept for one update");
//   }
//
// and everything else is made from that list: flags, records, reference tables.
// Fields are bool, int64_t, double or std::string.
using OptionValue = std::variant<bool, int64_t, double, std::string>;
using OptionMap = std::map<std::string, OptionValue>;

struct OptionField {
  std::string name;
  OptionValue value;
  std::string help;
};

// The value as a person would type it; doubles in their shortest exact form.
std::string to_text(const OptionValue& value);

// Reads text as the type that `like` holds. Throws Error(kInvalid) with the
// field's name if it does not fit.
OptionValue parse_option(const std::string& name, const std::string& text,
                         const OptionValue& like);

// Throws Error(kInvalid): the unknown name, and the known one nearest to it.
[[noreturn]] void fail_unknown_name(const std::string& subject,
                                    const std::string& name,
                                    const std::vector<std::string>& known);

// The same, unless the name is known.
void require_one_of(const std::string& subject, const std::string& name,
                    const std::vector<std::string>& known);

// The fields of an options struct in their order, with current values.
template <class Options>
std::vector<OptionField> option_fields(Options options) {
  std::vector<OptionField> fields;
  options.visit([&](const char* name, const auto& field, const char* help) {
    fields.push_back({name, OptionValue(field), help});
  });
  return fields;
}

template <class Options>
OptionMap to_option_map(const Options& options) {
  OptionMap map;
  for (auto& field : option_fields(options))
    map[field.name] = field.value;
  return map;
}

// Sets the named fields. Whole numbers are taken for doubles; any other
// mismatch and every unknown name throws Error(kInvalid) and names `subject`.
template <class Options>
void assign_options(Options& options, const OptionMap& values,
                    const std::string& subject);

// Implementation.

void check_known_names(const std::string& subject, const OptionMap& values,
                       const std::vector<OptionField>& fields);
OptionValue convert_option(const std::string& subject, const std::string& name,
                           const OptionValue& value, const OptionValue& like);

template <class Options>
void assign_options(Options& options, const OptionMap& values,
                    const std::string& subject) {
  check_known_names(subject, values, option_fields(options));
  options.visit([&](const char* name, auto& field, const char*) {
    const auto found = values.find(name);
    if (found == values.end()) return;
    using Field = std::decay_t<decltype(field)>;
    field = std::get<Field>(
        convert_option(subject, name, found->second, OptionValue(field)));
  });
}

}  // namespace sotta
