#include "sotta/adapt/make_adapter.h"

#include <utility>

#include "adapt/methods/bn_stats.h"
#include "adapt/methods/cotta.h"
#include "adapt/methods/eata.h"
#include "adapt/methods/lame.h"
#include "adapt/methods/pseudo_label.h"
#include "adapt/methods/rotta.h"
#include "adapt/methods/sar.h"
#include "adapt/methods/sotta.h"
#include "adapt/methods/source.h"
#include "adapt/methods/tent.h"
#include "core/registry.h"

namespace sotta {
namespace {

at::Tensor as_they_are(const at::Tensor& logits, const at::Tensor&,
                       const SourceOptions&) {
  return logits;
}

// One line per method.
Registry<MethodEntry>& registry() {
  static Registry<MethodEntry> methods(
      "method",
      {
          method_entry("source", "Source", make_source, as_they_are),
          method_entry("bn_stats", "BN Stats", make_bn_stats),
          method_entry("pseudo_label", "PL", make_pseudo_label),
          method_entry("tent", "TENT", make_tent),
          method_entry("eata", "EATA", make_eata),
          method_entry("sar", "SAR", make_sar),
          method_entry("cotta", "CoTTA", make_cotta),
          method_entry("lame", "LAME", make_lame, lame_logits),
          method_entry("rotta", "RoTTA", make_rotta),
          method_entry("sotta", "SoTTA", make_sotta),
          method_entry("screened_sotta", "Screened SoTTA", make_screened_sotta),
      });
  return methods;
}

}  // namespace

void register_method(MethodEntry entry) {
  require(entry.options && entry.make, "method " + entry.name,
          "expected functions that list its options and make it, got none");
  registry().add(std::move(entry));
}

const MethodEntry& find_method(const std::string& name) {
  return registry().find(name);
}

std::vector<std::string> method_names() {
  return registry().names();
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
