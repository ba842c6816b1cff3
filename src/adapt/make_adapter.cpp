#include "sotta/adapt/make_adapter.h"

#include <functional>

#include "sotta/adapt/bn_stats.h"
#include "sotta/adapt/cotta.h"
#include "sotta/adapt/eata.h"
#include "sotta/adapt/lame.h"
#include "sotta/adapt/pseudo_label.h"
#include "sotta/adapt/rotta.h"
#include "sotta/adapt/sar.h"
#include "sotta/adapt/sotta.h"
#include "sotta/adapt/source.h"
#include "sotta/adapt/tent.h"

namespace sotta {
namespace {

struct MethodEntry {
  std::string name;
  std::function<std::vector<OptionField>(Preset, int64_t)> options;
  std::function<std::unique_ptr<Method>(const MethodContext&, Preset,
                                        const OptionMap&)>
      make;
};

template <class Options>
MethodEntry entry(const std::string& name,
                  std::unique_ptr<Method> (*make)(const MethodContext&,
                                                  const Options&)) {
  return {name,
          [](Preset preset, int64_t classes) {
            return option_fields(Options::preset(preset, classes));
          },
          [name, make](const MethodContext& context, Preset preset,
                       const OptionMap& changes) {
            auto options = Options::preset(preset, context.model->classes());
            assign_options(options, changes, name);
            return make(context, options);
          }};
}

// One line per method.
const std::vector<MethodEntry>& registry() {
  static const std::vector<MethodEntry> entries = {
      entry("source", make_source),
      entry("bn_stats", make_bn_stats),
      entry("pseudo_label", make_pseudo_label),
      entry("tent", make_tent),
      entry("eata", make_eata),
      entry("sar", make_sar),
      entry("cotta", make_cotta),
      entry("lame", make_lame),
      entry("rotta", make_rotta),
      entry("sotta", make_sotta),
  };
  return entries;
}

const MethodEntry& find_method(const std::string& name) {
  for (const auto& method : registry())
    if (method.name == name) return method;
  fail_unknown_name("method", name, method_names());
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& method : registry())
    names.push_back(method.name);
  return names;
}

std::vector<OptionField> method_options(const std::string& method,
                                        Preset preset, int64_t classes) {
  return find_method(method).options(preset, classes);
}

std::unique_ptr<Method> make_method(const std::string& method,
                                    const MethodContext& context, Preset preset,
                                    const OptionMap& changes) {
  return find_method(method).make(context, preset, changes);
}

std::unique_ptr<Adapter> make_adapter(const std::string& method,
                                      const MethodContext& context,
                                      Preset preset, const OptionMap& changes,
                                      const GuardOptions& guard) {
  return std::make_unique<Adapter>(
      method, make_method(method, context, preset, changes), context, guard);
}

}  // namespace sotta
