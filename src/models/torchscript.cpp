#include "sotta/models/torchscript.h"

#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import.h>

#include "sotta/core/error.h"
#include "sotta/models/pixel_input.h"

#include "models/torchscript_graph.h"

namespace sotta {
namespace {

at::Tensor flat(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> vectors;
  for (const auto& part : parts)
    vectors.push_back(part.to(at::kFloat).flatten());
  return at::cat(vectors);
}

ModelState collect_state(const LiftedGraph& lifted) {
  std::vector<at::Tensor> body, affine, mean, var;
  for (const auto& parameter : lifted.body)
    body.push_back(parameter.tensor);
  for (const auto& norm : lifted.norms) {
    affine.insert(affine.end(), {norm.scale, norm.shift});
    mean.push_back(norm.running_mean);
    var.push_back(norm.running_var);
  }
  return {flat(body), flat(affine), flat(mean), flat(var)};
}

class TorchScriptClassifier : public Classifier {
 public:
  TorchScriptClassifier(const LiftedGraph& lifted,
                        const Normalisation& normalisation)
      : code_(lifted.graph, "forward"),
        body_(lifted.body),
        source_(collect_state(lifted)),
        normalisation_(normalisation),
        input_(normalisation, source_.body) {
    int64_t offset = 0;
    for (const auto& norm : lifted.norms) {
      norms_.push_back({norm.name, norm.scale.numel(), offset});
      offset += norm.scale.numel();
    }
  }

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result;
    if (stats.source != NormStats::Source::kRunning) {
      result.batch_mean = at::zeros_like(state.running_mean);
      result.batch_var = at::zeros_like(state.running_var);
    }
    torch::jit::Stack stack{input_.normalise(images, state.affine.device())};
    push_body(stack, state);
    push_norms(stack, state, result);
    stack.emplace_back(static_cast<int64_t>(stats.source));
    stack.emplace_back(stats.batch_share);
    torch::jit::InterpreterState(code_).run(stack);
    result.logits = stack[0].toTensor();
    result.features = stack[1].toTensor();
    return result;
  }

  const ModelState& source() const override { return source_; }
  int64_t classes() const override { return body_.back().tensor.numel(); }
  int64_t channels() const override { return input_.channels(); }
  std::string engine() const override { return "torchscript"; }
  const std::vector<NormLayer>& norm_layers() const override { return norms_; }
  const Normalisation& normalisation() const override { return normalisation_; }

  NamedTensors named_tensors(const ModelState& state) const override {
    NamedTensors tensors = named_norm_tensors(state, norms_);
    int64_t start = 0;
    for (const auto& [name, like] : body_) {
      tensors[name] =
          state.body.narrow(0, start, like.numel()).view(like.sizes());
      start += like.numel();
    }
    return tensors;
  }

 private:
  void push_body(torch::jit::Stack& stack, const ModelState& state) const {
    std::vector<int64_t> sizes;
    for (const auto& parameter : body_)
      sizes.push_back(parameter.tensor.numel());
    const auto parts = state.body.split_with_sizes(sizes);
    for (size_t i = 0; i < parts.size(); ++i)
      stack.emplace_back(parts[i].view(body_[i].tensor.sizes()));
  }

  void push_norms(torch::jit::Stack& stack, const ModelState& state,
                  const ForwardResult& result) const {
    const auto slice = [](const at::Tensor& vector, const NormLayer& norm) {
      return vector.defined() ? vector.narrow(0, norm.offset, norm.channels)
                              : at::Tensor();
    };
    std::vector<int64_t> sizes;
    for (const auto& norm : norms_)
      sizes.insert(sizes.end(), {norm.channels, norm.channels});
    const auto affine = state.affine.split_with_sizes(sizes);
    for (size_t i = 0; i < norms_.size(); ++i) {
      const NormLayer& norm = norms_[i];
      stack.emplace_back(affine[2 * i]);
      stack.emplace_back(affine[2 * i + 1]);
      stack.emplace_back(slice(state.running_mean, norm));
      stack.emplace_back(slice(state.running_var, norm));
      stack.emplace_back(slice(result.batch_mean, norm));
      stack.emplace_back(slice(result.batch_var, norm));
    }
  }

  torch::jit::Code code_;
  std::vector<NamedTensor> body_;  // for names and shapes
  std::vector<NormLayer> norms_;
  ModelState source_;
  Normalisation normalisation_;
  PixelInput input_;
};

torch::jit::Module read_module(const std::filesystem::path& file,
                               at::Device device) {
  if (!std::filesystem::exists(file))
    fail(ErrorKind::kNotFound, file.string(), "there is no such file");
  try {
    return torch::jit::load(file.string(), device);
  } catch (const c10::Error& error) {
    fail(ErrorKind::kBadFormat, file.string(),
         "expected a TorchScript file, LibTorch says: " +
             std::string(error.what_without_backtrace()));
  }
}

}  // namespace

bool is_torchscript(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  char magic[2] = {};
  stream.read(magic, sizeof magic);
  if (!stream || magic[0] != 'P' || magic[1] != 'K') return false;
  // Zip files name their entries a second time at their end; checkpoints and
  // TorchScript files differ by the entry that says where constants lie.
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  constexpr std::uintmax_t kTail = 1 << 20;
  stream.seekg(static_cast<std::streamoff>(size > kTail ? size - kTail : 0));
  const std::string tail((std::istreambuf_iterator<char>(stream)), {});
  return tail.find("/constants.pkl") != std::string::npos;
}

std::unique_ptr<Classifier> load_torchscript(const std::filesystem::path& file,
                                             const LoadOptions& options) {
  if (!options.normalisation)
    fail(ErrorKind::kInvalid, file.string(),
         "TorchScript does not say how its inputs are normalised, and no "
         "normalisation was given");
  check_normalisation(*options.normalisation);
  if (options.precision == Precision::kBfloat16)
    fail(ErrorKind::kUnsupported, file.string(),
         "bf16 is for our own networks, a TorchScript file computes in what it "
         "was made for");
  use_precision(options.precision, options.device);
  const torch::jit::Module module = read_module(file, options.device);
  return std::make_unique<TorchScriptClassifier>(
      lift_graph(module, file.string()), *options.normalisation);
}

}  // namespace sotta
