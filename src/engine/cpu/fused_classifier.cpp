#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>

#include "engine/cpu/network/network_function.h"
#include "engine/cpu/network/network_layout.h"
#include "engine/cpu/simd_target.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/fused.h"
#include "engine/wrapped_classifier.h"
#include "models/pixel_input.h"

namespace sotta::engine {
namespace {

OperandType operand_type(Precision precision) {
  return precision == Precision::kBfloat16 ? OperandType::kBfloat16
                                           : OperandType::kFloat;
}

// "fused-avx3", "fused-avx3-bf16".
std::string name_of(const std::string& target, Precision precision) {
  std::string name = "fused-";
  for (const char letter : target)
    name += letter >= 'A' && letter <= 'Z'
                ? static_cast<char>(letter - 'A' + 'a')
                : letter;
  return precision == Precision::kBfloat16 ? name + "-bf16" : name;
}

// Tensors made for inference alone count no versions.
int64_t version_of(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : static_cast<int64_t>(tensor._version());
}

// Runs what the engine covers through Network, everything else through the
// LibTorch classifier that it was made from. Thread-safe, as every Classifier.
class FusedClassifier : public WrappedClassifier {
 public:
  FusedClassifier(std::unique_ptr<Classifier> reference,
                  const NetworkLayout& layout, bool low_memory)
      : WrappedClassifier(std::move(reference)),
        network_(std::make_shared<RunnableNetwork>(
            layout, norm_layers(),
            NetworkOptions{low_memory,
                           operand_type(device_settings().precision)})),
        body_version_(version_of(source().body)),
        input_(normalisation(), source().body) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    if (!covers(images) || !covers(state))
      return reference().forward(images, state, stats);
    auto result =
        run_network(network_, input_.normalise(images, at::kCPU), state, stats);
    const NetworkLayout& layout = network_->layout;
    const at::Tensor logits = at::linear(
        result.features, layout.classifier_weight, layout.classifier_bias);
    return {logits, result.features, result.batch_mean, result.batch_var};
  }

  std::vector<ForwardResult> forward_lanes(
      const std::vector<Lane>& lanes) const override {
    if (lanes.size() < 2 || !network_->network.has_lanes() || !joins(lanes))
      return Classifier::forward_lanes(lanes);
    std::vector<at::Tensor> images;
    std::vector<ModelState> states;
    for (const Lane& lane : lanes) {
      images.push_back(lane.images);
      states.push_back(lane.state);
    }
    const at::Tensor features = infer_lanes(
        network_, input_.normalise(at::cat(images), at::kCPU), states);
    const NetworkLayout& layout = network_->layout;
    const at::Tensor logits =
        at::linear(features, layout.classifier_weight, layout.classifier_bias);
    std::vector<ForwardResult> results;
    const int64_t each = images[0].size(0);
    for (size_t i = 0; i < lanes.size(); ++i) {
      const int64_t begin = static_cast<int64_t>(i) * each;
      results.push_back({logits.narrow(0, begin, each),
                         features.narrow(0, begin, each),
                         {},
                         {}});
    }
    return results;
  }

  // Batches of a few images leave most of a convolution's tasks half empty.
  bool gains_from_lanes(const Lane& lane) const override {
    constexpr int64_t kFewImages = 16;
    return network_->network.has_lanes() && predicts(lane) &&
           lane.images.size(0) < kFewImages;
  }

  std::string engine() const override {
    return name_of(simd_targets().front(), device_settings().precision);
  }

 private:
  // Other images are LibTorch's classifier's to refuse.
  bool covers(const at::Tensor& images) const {
    const bool known_type =
        images.scalar_type() == at::kByte || images.scalar_type() == at::kFloat;
    return known_type && images.dim() == 4 && images.is_cpu() &&
           images.size(1) == channels() && images.numel() > 0;
  }

  // With running statistics and no gradients, whatever images they are beside
  // change nothing.
  bool predicts(const Lane& lane) const {
    const bool differentiates =
        at::GradMode::is_enabled() &&
        (lane.images.requires_grad() || lane.state.affine.requires_grad());
    return !differentiates &&
           lane.stats.source == NormStats::Source::kRunning &&
           covers(lane.images) && covers(lane.state);
  }

  bool joins(const std::vector<Lane>& lanes) const {
    return std::all_of(lanes.begin(), lanes.end(), [&](const Lane& lane) {
      const at::Tensor& first = lanes[0].images;
      return predicts(lane) && lane.images.sizes() == first.sizes() &&
             lane.images.scalar_type() == first.scalar_type();
    });
  }

  // Weights were packed from the source's body: the state must have that very
  // tensor, unchanged since, and vectors of the usual kind.
  bool covers(const ModelState& state) const {
    const at::Tensor& own = source().body;
    const bool same_body = state.body.defined() && state.body.is_cpu() &&
                           state.body.sizes() == own.sizes() &&
                           state.body.scalar_type() == own.scalar_type() &&
                           state.body.data_ptr() == own.data_ptr() &&
                           version_of(own) == body_version_;
    return same_body && !state.body.requires_grad() &&
           is_vector(state.affine, source().affine) &&
           is_vector(state.running_mean, source().running_mean) &&
           is_vector(state.running_var, source().running_var) &&
           !state.running_mean.requires_grad() &&
           !state.running_var.requires_grad();
  }

  static bool is_vector(const at::Tensor& tensor, const at::Tensor& like) {
    return tensor.defined() && tensor.is_cpu() &&
           tensor.scalar_type() == at::kFloat && tensor.sizes() == like.sizes();
  }

  std::shared_ptr<RunnableNetwork> network_;
  int64_t body_version_;
  PixelInput input_;
};

}  // namespace

std::vector<std::string> fused_engines(Precision precision) {
  std::vector<std::string> names;
  if (precision == Precision::kFloat32)
    for (const std::string& target : simd_targets())
      names.push_back(name_of(target, precision));
  if (precision == Precision::kBfloat16 && multiplies_bfloat16())
    names.push_back(name_of(simd_targets().front(), precision));
  return names;
}

bool is_fused(const Classifier& model) {
  return dynamic_cast<const FusedClassifier*>(&model) != nullptr;
}

bool is_fusible(const Classifier& model) {
  return !fused_engines(model.device_settings().precision).empty() &&
         read_layout(model).has_value();
}

std::unique_ptr<Classifier> make_fused(std::unique_ptr<Classifier> model,
                                       bool low_memory) {
  const auto layout = read_layout(*model);
  return std::make_unique<FusedClassifier>(std::move(model), layout.value(),
                                           low_memory);
}

}  // namespace sotta::engine
