#include "sotta/eval/load_model.h"

#include "sotta/core/error.h"

namespace sotta {

std::unique_ptr<Classifier> load_model(const std::filesystem::path& file,
                                       const LoadOptions& options,
                                       const EngineOptions& engine) {
  EngineOptions chosen = engine;
  if (options.precision != Precision::kFloat32) {
    if (engine.name == "fused")
      fail(ErrorKind::kUnsupported, "fused engine",
           std::string("computes in fp32, got ") + to_text(options.precision));
    if (engine.name == "auto") chosen.name = "libtorch";
  }
  return choose_engine(load_classifier(file, options), chosen);
}

}  // namespace sotta
