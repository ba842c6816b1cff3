#include "sotta/engine/engine.h"

#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "engine/fused.h"

namespace sotta {

std::vector<std::string> available_engines() {
  std::vector<std::string> names = {"libtorch", "torchscript"};
  for (const auto& name : engine::fused_engines())
    names.push_back(name);
  return names;
}

std::unique_ptr<Classifier> choose_engine(std::unique_ptr<Classifier> model,
                                          const EngineOptions& options) {
  require_one_of("engine", options.name, {"auto", "libtorch", "fused"});
  require(options.name != "libtorch" || !options.low_memory, "low_memory",
          "is an option of the fused engine, got engine libtorch");
  if (options.name == "libtorch" || engine::is_fused(*model)) return model;
  if (engine::is_fusible(*model))
    return engine::make_fused(std::move(model), options.low_memory);
  if (options.name == "fused")
    fail(ErrorKind::kUnsupported, "fused engine",
         engine::fused_engines().empty()
             ? "needs a build with Highway and a processor with AVX2, AVX-512 "
               "or NEON"
             : "expected a ResNet with widths that are multiples of 16, "
               "images of at most 16 channels and float weights on the CPU");
  require(!options.low_memory, "low_memory",
          "is an option of the fused engine, which does not cover this network "
          "here");
  return model;
}

}  // namespace sotta
