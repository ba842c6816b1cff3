#include "engine/cpu/network/network_function.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"

namespace sotta::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Images of one inference pass at most; larger batches go through in parts, of
// large images in smaller ones, which take less memory.
int64_t infer_at_once(const at::Tensor& images) {
  constexpr int64_t kPixels = 64 * 32 * 32;
  const int64_t wanted = kPixels / (images.size(2) * images.size(3));
  return std::clamp<int64_t>(wanted, 32, 64);
}

// A workspace in use; it goes back when nobody needs it any more.
class Lease : public torch::CustomClassHolder {
 public:
  Lease(std::shared_ptr<RunnableNetwork> network, const at::Tensor& images,
        int64_t count)
      : network_(std::move(network)) {
    const int64_t height = images.size(2), width = images.size(3);
    space_ = network_->spaces.take(count, height, width);
    if (!space_)
      space_ = network_->network.make_workspace(count, height, width);
  }
  ~Lease() override { network_->spaces.give_back(std::move(space_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const Network& network() const { return network_->network; }
  Workspace& space() const { return *space_; }

 private:
  std::shared_ptr<RunnableNetwork> network_;
  std::unique_ptr<Workspace> space_;
};

// Everything of a pass that is a tensor, so that it stays alive.
struct Tensors {
  at::Tensor images, affine, running_mean, running_var;
  at::Tensor batch_mean, batch_var;  // undefined with running statistics
};

NetworkInput input_of(const Tensors& tensors, NormStats stats) {
  NetworkInput input;
  input.images = tensors.images.data_ptr<float>();
  input.count = tensors.images.size(0);
  input.affine = tensors.affine.data_ptr<float>();
  input.running_mean = tensors.running_mean.data_ptr<float>();
  input.running_var = tensors.running_var.data_ptr<float>();
  input.stats = stats;
  if (stats.source != NormStats::Source::kRunning) {
    input.batch_mean = tensors.batch_mean.data_ptr<float>();
    input.batch_var = tensors.batch_var.data_ptr<float>();
  }
  return input;
}

// What the backward pass reads again.
class KeptPass : public torch::CustomClassHolder {
 public:
  KeptPass(std::shared_ptr<RunnableNetwork> network, Tensors all,
           NormStats statistics)
      : tensors(std::move(all)),
        stats(statistics),
        lease(std::move(network), tensors.images, tensors.images.size(0)) {}

  Tensors tensors;
  NormStats stats;
  Lease lease;
};

constexpr const char* kPass = "pass";

struct NetworkFunction : torch::autograd::Function<NetworkFunction> {
  // Gradients flow to the first two; `tensors` holds them again.
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& /*images*/,
                            const at::Tensor& /*affine*/,
                            const Tensors& tensors, NormStats stats,
                            const std::shared_ptr<RunnableNetwork>& network) {
    auto pass = c10::make_intrusive<KeptPass>(network, tensors, stats);
    const Network& runs = pass->lease.network();
    const at::Tensor features = at::empty(
        {tensors.images.size(0), runs.features()}, tensors.images.options());
    runs.forward(input_of(tensors, stats), at::get_num_threads(),
                 pass->lease.space(), features.data_ptr<float>());
    context->saved_data[kPass] = c10::IValue::make_capsule(std::move(pass));
    return features;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    require(!at::GradMode::is_enabled(), "fused engine",
            "has no second derivatives");
    const auto found = context->saved_data.find(kPass);
    require(found != context->saved_data.end(), "fused engine",
            "a graph can be run back once only");
    // Taken out, so that its workspace is free for the next pass.
    const auto holder = found->second.toCapsule();
    context->saved_data.erase(found);
    const auto& pass = static_cast<const KeptPass&>(*holder);

    const at::Tensor gradient = output_gradients[0].contiguous();
    const at::Tensor affine = at::empty_like(pass.tensors.affine);
    at::Tensor images;
    if (context->needs_input_grad(0))
      images = at::empty_like(pass.tensors.images);
    NetworkGradients gradients;
    gradients.features = gradient.data_ptr<float>();
    gradients.affine = affine.data_ptr<float>();
    if (images.defined()) gradients.images = images.data_ptr<float>();
    pass.lease.network().backward(input_of(pass.tensors, pass.stats),
                                  at::get_num_threads(), pass.lease.space(),
                                  gradients);
    const at::Tensor none;
    return {images, affine, none, none, none};
  }
};

at::Tensor infer(const std::shared_ptr<RunnableNetwork>& network,
                 const Tensors& tensors) {
  const int64_t count = tensors.images.size(0);
  const int64_t part = std::min(count, infer_at_once(tensors.images));
  const Lease lease(network, tensors.images, part);
  const int64_t features = lease.network().features();
  at::Tensor result = at::empty({count, features}, tensors.images.options());
  NetworkInput input = input_of(tensors, NormStats::running());
  for (int64_t first = 0; first < count; first += part) {
    input.images =
        tensors.images.data_ptr<float>() + first * tensors.images.stride(0);
    input.count = std::min(part, count - first);
    lease.network().infer(input, at::get_num_threads(), lease.space(),
                          result.data_ptr<float>() + first * features);
  }
  return result;
}

// With statistics of the batch, where no gradient is asked for.
at::Tensor run_once(const std::shared_ptr<RunnableNetwork>& network,
                    const Tensors& tensors, NormStats stats) {
  const Lease lease(network, tensors.images, tensors.images.size(0));
  at::Tensor result =
      at::empty({tensors.images.size(0), lease.network().features()},
                tensors.images.options());
  lease.network().forward(input_of(tensors, stats), at::get_num_threads(),
                          lease.space(), result.data_ptr<float>());
  return result;
}

}  // namespace

FeatureResult run_network(const std::shared_ptr<RunnableNetwork>& network,
                          const at::Tensor& images, const ModelState& state,
                          NormStats stats) {
  const bool running = stats.source == NormStats::Source::kRunning;
  FeatureResult result;
  if (!running) {
    result.batch_mean = at::empty_like(state.running_mean);
    result.batch_var = at::empty_like(state.running_var);
  }
  const at::Tensor whole = images.contiguous();
  const Tensors tensors{whole.detach(),
                        state.affine.detach().contiguous(),
                        state.running_mean.contiguous(),
                        state.running_var.contiguous(),
                        result.batch_mean,
                        result.batch_var};
  if (at::GradMode::is_enabled() &&
      (whole.requires_grad() || state.affine.requires_grad()))
    result.features =
        NetworkFunction::apply(whole, state.affine, tensors, stats, network);
  else
    result.features =
        running ? infer(network, tensors) : run_once(network, tensors, stats);
  return result;
}

}  // namespace sotta::engine
