#include "sotta/core/error.h"

#include "engine/fused.h"

namespace sotta::engine {

std::vector<std::string> fused_engines(Precision) {
  return {};
}

bool is_fused(const Classifier&) {
  return false;
}

bool is_fusible(const Classifier&) {
  return false;
}

std::unique_ptr<Classifier> make_fused(std::unique_ptr<Classifier>, bool) {
  fail(ErrorKind::kUnsupported, "fused engine", "is not in this build");
}

}  // namespace sotta::engine
