#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sotta/adapt/adapter.h"
#include "sotta/adapt/guard.h"
#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"
#include "sotta/core/options.h"

namespace sotta {

// What there is to know of a method before one is made.
struct MethodEntry {
  std::string name;   // on the command line and in records
  std::string label;  // in tables: "BN Stats"; empty: the name

  // Its options under a preset, for a number of classes.
  std::function<std::vector<OptionField>(Preset, int64_t)> options;

  std::function<std::unique_ptr<Method>(const MethodContext&, Preset,
                                        const OptionMap& changes)>
      make;

  // Logits [N, K] of a part of a window from the source model's logits [N, K]
  // and features [N, F] of its images. May be recorded once and repeated: must
  // not wait for the device.
  using OutputRule =
      std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

  // For methods that ask for nothing but what the source model says of the
  // images: one pass of it over a stream can serve them all. Empty for others.
  std::function<OutputRule(Preset, int64_t classes, const OptionMap& changes)>
      rule;
};

// The entry of a method with an options struct that has a static
// preset(Preset, classes) and a visit(). `logits`, if there is one, becomes the
// entry's rule.
template <class Options>
MethodEntry method_entry(const std::string& name, const std::string& label,
                         std::unique_ptr<Method> (*make)(const MethodContext&,
                                                         const Options&),
                         at::Tensor (*logits)(const at::Tensor& logits,
                                              const at::Tensor& features,
                                              const Options&) = nullptr);

// Adds a method to those that have a name. Throws Error(kInvalid) for a name
// that is taken or none, and without options or make.
void register_method(MethodEntry entry);

// Throws Error(kInvalid) for an unknown name.
const MethodEntry& find_method(const std::string& name);

// The methods there are: the library's own, then those that were registered.
std::vector<std::string> method_names();

// A method's options under a preset, in the order of its options struct. Throws
// Error(kInvalid) for an unknown name, as make_adapter() does.
std::vector<OptionField> method_options(const std::string& method,
                                        Preset preset, int64_t classes);

// A method by name: the preset's options with `changes` on top. For putting
// something in front of it, such as make_odin_screen().
std::unique_ptr<Method> make_method(const std::string& method,
                                    const MethodContext& context,
                                    Preset preset = Preset::kClean,
                                    const OptionMap& changes = {});

// An adapter by name, likewise. Throws Error(kInvalid) for unknown names and
// values out of range.
std::unique_ptr<Adapter> make_adapter(const std::string& method,
                                      const MethodContext& context,
                                      Preset preset = Preset::kClean,
                                      const OptionMap& changes = {},
                                      const GuardOptions& guard = {});

// Implementation.

template <class Options>
MethodEntry method_entry(const std::string& name, const std::string& label,
                         std::unique_ptr<Method> (*make)(const MethodContext&,
                                                         const Options&),
                         at::Tensor (*logits)(const at::Tensor& logits,
                                              const at::Tensor& features,
                                              const Options&)) {
  const auto changed = [name](Preset preset, int64_t classes,
                              const OptionMap& changes) {
    Options options = Options::preset(preset, classes);
    assign_options(options, changes, name);
    return options;
  };
  MethodEntry entry{name, label, nullptr, nullptr, nullptr};
  entry.options = [](Preset preset, int64_t classes) {
    return option_fields(Options::preset(preset, classes));
  };
  entry.make = [changed, make](const MethodContext& context, Preset preset,
                               const OptionMap& changes) {
    return make(context, changed(preset, context.model->classes(), changes));
  };
  if (logits)
    entry.rule = [changed, logits](Preset preset, int64_t classes,
                                   const OptionMap& changes) {
      return [options = changed(preset, classes, changes), logits](
                 const at::Tensor& source_logits, const at::Tensor& features) {
        return logits(source_logits, features, options);
      };
    };
  return entry;
}

}  // namespace sotta
