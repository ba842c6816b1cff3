#include "sotta/engine/open_model.h"

#include "sotta/core/error.h"

namespace sotta {

std::unique_ptr<Classifier> open_model(const std::filesystem::path& file,
                                       const ModelOptions& options) {
  EngineOptions engine = options.engine;
  if (options.precision != Precision::kFloat32) {
    if (engine.name == "fused")
      fail(ErrorKind::kUnsupported, "fused engine",
           std::string("computes in fp32, got ") + to_text(options.precision));
    if (engine.name == "auto") engine.name = "libtorch";
  }
  return choose_engine(load_classifier(file, options), engine);
}

}  // namespace sotta
