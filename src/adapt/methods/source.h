#pragma once

#include <cstdint>
#include <memory>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"

namespace sotta {

// The source model as it is, with the running statistics of its training: what
// every adaptation has to beat. It has no options.
struct SourceOptions {
  static SourceOptions preset(Preset, int64_t) { return {}; }

  template <class Visitor>
  void visit(Visitor&&) {}
};

std::unique_ptr<Method> make_source(const MethodContext& context,
                                    const SourceOptions& options);

}  // namespace sotta
