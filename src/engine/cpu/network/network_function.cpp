#include "engine/cpu/network/network_function.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"

namespace sotta::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Images of one inference saved. Larger batches run in parts, those of large
// images in smaller parts, which take less memory.
int64_t inference_images(const at::Tensor& images) {
  constexpr int64_t kPixels = 64 * 32 * 32;
  const int64_t wanted = kPixels / (images.size(2) * images.size(3));
  return std::clamp<int64_t>(wanted, 32, 64);
}

// A workspace while a pass uses it; released with the object.
class WorkspaceLease : public torch::CustomClassHolder {
 public:
  WorkspaceLease(std::shared_ptr<RunnableNetwork> network,
                 const at::Tensor& images, int64_t count)
      : network_(std::move(network)) {
    const int64_t height = images.size(2), width = images.size(3);
    space_ = network_->workspaces.acquire(count, height, width);
    if (!space_)
      space_ = network_->network.make_workspace(count, height, width);
  }
  ~WorkspaceLease() override {
    network_->workspaces.release(std::move(space_));
  }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;

  const Network& network() const { return network_->network; }
  Workspace& space() const { return *space_; }

 private:
  std::shared_ptr<RunnableNetwork> network_;
  std::unique_ptr<Workspace> space_;
};

// The tensors of a pass, kept alive while there are pointers to their numbers.
struct PassTensors {
  at::Tensor images, affine, running_mean, running_var;
  at::Tensor batch_mean, batch_var;  // undefined with running statistics
};

NetworkInput input_of(const PassTensors& tensors, NormStats stats) {
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

// What a forward pass saves for its backward pass.
class SavedForward : public torch::CustomClassHolder {
 public:
  SavedForward(std::shared_ptr<RunnableNetwork> network, PassTensors all,
               NormStats statistics)
      : tensors(std::move(all)),
        stats(statistics),
        lease(std::move(network), tensors.images, tensors.images.size(0)) {}

  PassTensors tensors;
  NormStats stats;
  WorkspaceLease lease;
};

constexpr const char* kSavedForward = "saved_forward";

struct NetworkFunction : torch::autograd::Function<NetworkFunction> {
  // Gradients flow to the first two; `tensors` holds them again.
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& /*images*/,
                            const at::Tensor& /*affine*/,
                            const PassTensors& tensors, NormStats stats,
                            const std::shared_ptr<RunnableNetwork>& network) {
    auto saved = c10::make_intrusive<SavedForward>(network, tensors, stats);
    const Network& net = saved->lease.network();
    const at::Tensor features = at::empty(
        {tensors.images.size(0), net.features()}, tensors.images.options());
    net.forward(input_of(tensors, stats), at::get_num_threads(),
                saved->lease.space(), features.data_ptr<float>());
    context->saved_data[kSavedForward] =
        c10::IValue::make_capsule(std::move(saved));
    return features;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    require(!at::GradMode::is_enabled(), "fused engine",
            "has no second derivatives");
    const auto found = context->saved_data.find(kSavedForward);
    require(found != context->saved_data.end(), "fused engine",
            "a graph can be run back once only");
    // Taken out of the graph, so that the workspace is released on return.
    const auto holder = found->second.toCapsule();
    context->saved_data.erase(found);
    const auto& saved = static_cast<const SavedForward&>(*holder);

    const at::Tensor gradient = output_gradients[0].contiguous();
    const at::Tensor affine = at::empty_like(saved.tensors.affine);
    at::Tensor images;
    if (context->needs_input_grad(0))
      images = at::empty_like(saved.tensors.images);
    NetworkGradients gradients;
    gradients.features = gradient.data_ptr<float>();
    gradients.affine = affine.data_ptr<float>();
    if (images.defined()) gradients.images = images.data_ptr<float>();
    saved.lease.network().backward(input_of(saved.tensors, saved.stats),
                                   at::get_num_threads(), saved.lease.space(),
                                   gradients);
    const at::Tensor none;
    return {images, affine, none, none, none};
  }
};

// The vectors of several lanes lie in rows.
at::Tensor infer(const std::shared_ptr<RunnableNetwork>& network,
                 const PassTensors& tensors, int64_t lanes = 1) {
  const int64_t count = tensors.images.size(0);
  const int64_t per_lane = count / lanes;
  int64_t part = std::min(count, inference_images(tensors.images));
  if (lanes > 1)  // whole lanes
    part = std::max<int64_t>(1, part / per_lane) * per_lane;
  const WorkspaceLease lease(network, tensors.images, part);
  const int64_t features = lease.network().features();
  at::Tensor result = at::empty({count, features}, tensors.images.options());
  NetworkInput input = input_of(tensors, NormStats::running());
  for (int64_t first = 0; first < count; first += part) {
    input.images =
        tensors.images.data_ptr<float>() + first * tensors.images.stride(0);
    input.count = std::min(part, count - first);
    if (lanes > 1) {
      const int64_t lane = first / per_lane;
      input.lanes = input.count / per_lane;
      input.affine = tensors.affine[lane].data_ptr<float>();
      input.running_mean = tensors.running_mean[lane].data_ptr<float>();
      input.running_var = tensors.running_var[lane].data_ptr<float>();
    }
    lease.network().infer(input, at::get_num_threads(), lease.space(),
                          result.data_ptr<float>() + first * features);
  }
  return result;
}

// With statistics of the batch, without gradients.
at::Tensor forward_only(const std::shared_ptr<RunnableNetwork>& network,
                        const PassTensors& tensors, NormStats stats) {
  const WorkspaceLease lease(network, tensors.images, tensors.images.size(0));
  at::Tensor result =
      at::empty({tensors.images.size(0), lease.network().features()},
                tensors.images.options());
  lease.network().forward(input_of(tensors, stats), at::get_num_threads(),
                          lease.space(), result.data_ptr<float>());
  return result;
}

at::Tensor stacked(const std::vector<ModelState>& states,
                   at::Tensor ModelState::*vector) {
  std::vector<at::Tensor> all;
  for (const ModelState& state : states)
    all.push_back((state.*vector).detach());
  return at::stack(all);
}

}  // namespace

at::Tensor infer_lanes(const std::shared_ptr<RunnableNetwork>& network,
                       const at::Tensor& images,
                       const std::vector<ModelState>& states) {
  const PassTensors tensors{images.detach().contiguous(),
                            stacked(states, &ModelState::affine),
                            stacked(states, &ModelState::running_mean),
                            stacked(states, &ModelState::running_var),
                            {},
                            {}};
  return infer(network, tensors, static_cast<int64_t>(states.size()));
}

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
  const PassTensors tensors{whole.detach(),
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
    result.features = running ? infer(network, tensors)
                              : forward_only(network, tensors, stats);
  return result;
}

}  // namespace sotta::engine
