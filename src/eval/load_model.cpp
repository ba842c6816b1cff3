#include "sotta/eval/load_model.h"

#include "sotta/core/error.h"

namespace sotta {

std::unique_ptr<Classifier> load_model(const std::filesystem::path& file,
                                       const LoadOptions& options,
                                       const EngineOptions& engine) {
  if (options.precision == Precision::kFloat32 || engine.name == "libtorch")
    return choose_engine(load_classifier(file, options), engine);
  if (engine.name == "fused")
    fail(ErrorKind::kUnsupported, "fused engine",
         std::string("computes in fp32, got ") + to_text(options.precision));
  EngineOptions libtorch = engine;
  if (engine.name == "auto") libtorch.name = "libtorch";
  return choose_engine(load_classifier(file, options), libtorch);
}

}  // namespace sotta
