#pragma once

#include "tests/adapt/trace.h"

namespace sotta::testing {

// Any method on the tiny network of the golden traces, with windows of
// kSmallWindow images of golden_stream().
constexpr int64_t kSmallWindow = 16;

inline std::unique_ptr<Adapter> small_adapter(const std::string& method,
                                              const GuardOptions& guard = {},
                                              const OptionMap& more = {}) {
  MethodContext context;
  context.model = golden_network();
  context.rng = Rng(3);
  context.update_interval = kSmallWindow;
  context.source_images = Golden("methods/stream")["fisher_clean"];
  OptionMap changes;
  if (method == "sotta" || method == "screened_sotta")
    changes = {{"min_confidence", 0.5}, {"memory_capacity", int64_t{16}}};
  if (method == "cotta") changes = {{"augmentations", int64_t{2}}};
  changes.insert(more.begin(), more.end());
  return make_adapter(method, context, Preset::kClean, changes, guard);
}

inline void expect_same_state(const Snapshot& found, const Snapshot& wanted) {
  EXPECT_EQ(found.method, wanted.method);
  ASSERT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors)
    EXPECT_TRUE(found.tensors.at(name).equal(tensor)) << name;
}

}  // namespace sotta::testing
