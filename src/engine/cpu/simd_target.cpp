#include "engine/cpu/simd_target.h"

#include <hwy/highway.h>

#include "sotta/core/options.h"

namespace sotta::engine {
namespace {

constexpr int64_t kSlow = HWY_SCALAR | HWY_EMU128;

void choose(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    if ((target & kSlow) == 0) names.emplace_back(hwy::TargetName(target));
  return names;
}

void use_simd_target(const std::string& name) {
  use_best_simd_target();
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    if ((target & kSlow) == 0 && name == hwy::TargetName(target))
      return choose(target);
  fail_unknown_name("SIMD target", name, simd_targets());
}

void use_best_simd_target() {
  choose(0);
}

}  // namespace sotta::engine
