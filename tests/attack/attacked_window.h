#pragma once

#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/attack/attack.h"

#include "tests/adapt/trace.h"

namespace sotta::testing {

// A window of 16 images of the golden stream, every other one malicious.
inline AttackWindow attacked_window(int64_t index = 0) {
  const Golden stream("methods/stream");
  const auto cut = [&](const char* name) {
    return stream[name].slice(0, 16 * index, 16 * (index + 1));
  };
  return {cut("images"), at::arange(16).remainder(2).eq(0), cut("labels")};
}

// An adapter that has seen a window of the stream, unless asked otherwise.
inline std::unique_ptr<Adapter> attacked_adapter(const std::string& method,
                                                 int64_t windows = 1) {
  MethodContext context;
  context.model = golden_network();
  context.rng = Rng(3);
  context.update_interval = 16;
  context.source_images = Golden("methods/stream")["fisher_clean"];
  OptionMap changes;
  if (method == "sotta" || method == "screened_sotta")
    changes = {{"min_confidence", 0.5}, {"memory_capacity", int64_t{16}}};
  if (method == "rotta") changes = {{"memory_capacity", int64_t{16}}};
  if (method == "cotta") changes = {{"augmentations", int64_t{2}}};
  auto adapter = make_adapter(method, context, Preset::kClean, changes);
  for (int64_t i = 0; i < windows; ++i)
    adapter->step(golden_stream().slice(0, 144 - 16 * i, 160 - 16 * i));
  return adapter;
}

inline AttackOptions attack_by(const std::string& mode) {
  AttackOptions options;
  options.mode = mode;
  options.steps = 4;
  return options;
}

// The entries in which two snapshots differ.
inline std::vector<std::string> differences(const Snapshot& one,
                                            const Snapshot& other) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : one.tensors) {
    const auto found = other.tensors.find(name);
    if (found == other.tensors.end() || !found->second.equal(tensor))
      names.push_back(name);
  }
  for (const auto& [name, tensor] : other.tensors)
    if (!one.tensors.count(name)) names.push_back(name);
  return names;
}

}  // namespace sotta::testing
