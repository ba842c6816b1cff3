#include "sotta/engine/engine.h"

#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "engine/cuda/cuda_classifier.h"
#include "engine/fused.h"

namespace sotta {
namespace {

[[noreturn]] void fail_fused(const Classifier& model) {
  const Precision precision = model.device_settings().precision;
  fail(ErrorKind::kUnsupported, "fused engine",
       precision == Precision::kTf32 ? "computes in fp32 or bf16, got tf32"
       : precision == Precision::kBfloat16 &&
               engine::fused_engines(precision).empty()
           ? "computes bf16 on processors with AVX512-BF16 alone"
       : engine::fused_engines().empty()
           ? "needs a build with Highway and a processor with AVX2, AVX-512 "
             "or NEON"
           : "expected a ResNet with batch norm, or a wide one, with widths "
             "that are multiples of 16, "
             "images of at most 16 channels and float weights on the CPU");
}

[[noreturn]] void fail_cuda(const Classifier& model) {
  const at::Device device = model.source().body.device();
  fail(ErrorKind::kUnsupported, "cuda engine",
       device.is_cpu() ? "needs a GPU, got device cpu"
       : engine::cuda_engine(device).empty()
           ? "needs a build with CUDA's compiler"
           : "expected a ResNet with batch norm in tf32 or bf16");
}

}  // namespace

std::vector<std::string> available_engines() {
  std::vector<std::string> names = {"libtorch", "torchscript", "exported"};
  for (const auto& engines :
       {engine::fused_engines(Precision::kFloat32),
        engine::fused_engines(Precision::kBfloat16), engine::cuda_engines()})
    names.insert(names.end(), engines.begin(), engines.end());
  return names;
}

std::unique_ptr<Classifier> choose_engine(std::unique_ptr<Classifier> model,
                                          const EngineOptions& options) {
  const std::string& name = options.name;
  require_one_of("engine", name, {"auto", "libtorch", "fused", "cuda"});
  require(!options.low_memory || name == "auto" || name == "fused",
          "low_memory", "is an option of the fused engine, got engine " + name);
  if (name == "libtorch") return model;
  if (engine::is_fused(*model) && name != "cuda") return model;
  if (engine::is_cuda(*model) && name != "fused" && !options.low_memory)
    return model;
  if (name != "cuda" && engine::is_fusible(*model))
    return engine::make_fused(std::move(model), options.low_memory);
  if (name == "fused") fail_fused(*model);
  require(!options.low_memory, "low_memory",
          "is an option of the fused engine, which does not cover this network "
          "here");
  if (engine::has_cuda_engine(*model))
    return engine::make_cuda(std::move(model));
  if (name == "cuda") fail_cuda(*model);
  return model;
}

}  // namespace sotta
