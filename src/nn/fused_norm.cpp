#include "nn/fused_norm.h"

#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"

#include "gpu/kernels/norm_rows.h"
#include "nn/norm_planes.h"

namespace sotta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The loops trust these sizes.
void check(const at::Tensor& input, const NormVectors& vectors, NormStats stats,
           const at::Tensor& residual) {
  const int64_t lanes = lanes_of(vectors.scale);
  const auto one_per_channel = [&](const at::Tensor& vector) {
    return vector.defined() && lanes_of(vector) == lanes &&
           vector.numel() == lanes * input.size(1) && vector.stride(-1) == 1;
  };
  bool fit = one_per_channel(vectors.scale) && one_per_channel(vectors.shift) &&
             one_per_channel(vectors.running_mean) &&
             one_per_channel(vectors.running_var);
  if (stats.source != NormStats::Source::kRunning)
    fit = fit && one_per_channel(vectors.batch_mean) &&
          one_per_channel(vectors.batch_var);
  require(fit, "batch_norm",
          "expected contiguous vectors of " + std::to_string(input.size(1)) +
              " values, one per channel");
  require(lanes == 1 || (!input.is_cpu() && input.size(0) % lanes == 0),
          "batch_norm", "expected equal lanes, on a GPU");
  require(
      !residual.defined() || (residual.sizes() == input.sizes() &&
                              residual.scalar_type() == input.scalar_type()),
      "norm_relu", "expected a residual of the input's shape and type");
}

// The kernels' layout: planes on the CPU, rows of channels on a GPU.
at::MemoryFormat layout_for(const at::Tensor& input) {
  return input.is_cpu() ? at::MemoryFormat::Contiguous
                        : at::MemoryFormat::ChannelsLast;
}

template <class NormPass>
void run_on_its_device(const NormPass& pass) {
  pass.input.is_cpu() ? run_planes(pass) : run_rows(pass);
}

double batch_share(NormStats stats) {
  return stats.source == NormStats::Source::kRunning ? 0 : stats.batch_share;
}

NormForward make_pass(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats, const AfterNorm& after) {
  check(input, vectors, stats, after.residual);
  const auto per_channel = [&] {
    return at::empty(vectors.scale.sizes(), vectors.scale.options());
  };
  NormForward pass;
  pass.input = input;
  if (after.residual.defined())
    pass.residual = after.residual.contiguous(layout_for(input));
  pass.vectors = vectors;
  pass.uses_batch = stats.source != NormStats::Source::kRunning;
  pass.blended = stats.source == NormStats::Source::kBlended;
  pass.batch_share = batch_share(stats);
  pass.relu = after.relu;
  pass.trace = {per_channel(), per_channel(), per_channel()};
  return pass;
}

// The memory of a tensor that nobody else needs any more. Its new version makes
// autograd refuse to run the graph back again.
at::Tensor reused_memory(const at::Tensor& tensor) {
  tensor.unsafeGetTensorImpl()->bump_version();
  return tensor.detach();
}

// What autograd need not know of.
struct Untraced {
  NormVectors vectors;
  at::Tensor sums;
};

struct FusedNorm : torch::autograd::Function<FusedNorm> {
  // What gradients flow to comes first; the vectors hold it again. Autograd
  // takes no undefined tensors: an empty residual stands for none.
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& input,
                               const at::Tensor& residual,
                               const at::Tensor& scale,
                               const at::Tensor& /*shift*/,
                               const Untraced& untraced, NormStats stats,
                               bool relu, bool use_up) {
    NormForward pass =
        make_pass(input, untraced.vectors, stats,
                  {residual.numel() > 0 ? residual : at::Tensor(), relu});
    pass.sums = untraced.sums;
    // What stays comes first, so that it lies together in memory.
    if (relu)
      pass.kept = input.is_cpu() ? at::empty(input.sizes(), at::kByte)
                                 : empty_kept(input);
    pass.output = at::empty_like(input);
    run_on_its_device(pass);
    context->save_for_backward({input, scale, pass.kept, pass.trace.mean,
                                pass.trace.inverse_std, pass.trace.batch_mean});
    context->saved_data["share"] = batch_share(stats);
    context->saved_data["use_up"] = use_up;
    // Often nobody reads the second, which then has no gradient.
    context->set_materialize_grads(false);
    return {pass.output, pass.output.variable_data()};
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    require(!at::GradMode::is_enabled(), "batch_norm",
            "has no second derivatives");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &scale = saved[1];
    NormBackward pass;
    pass.input = input;
    for (const at::Tensor& gradient : output_gradients)
      if (gradient.defined())
        (pass.gradient.defined() ? pass.second_gradient : pass.gradient) =
            gradient.contiguous(layout_for(input));
    if (!pass.gradient.defined()) return variable_list(8);  // nothing came back
    pass.kept = saved[2];
    pass.scale = scale;
    pass.trace = {saved[3], saved[4], saved[5]};
    pass.batch_share = context->saved_data["share"].toDouble();
    pass.scale_gradient = at::empty(scale.sizes(), scale.options());
    pass.shift_gradient = at::empty(scale.sizes(), scale.options());
    if (context->needs_input_grad(1))
      pass.residual_gradient = at::empty_like(input);
    if (context->needs_input_grad(0))
      pass.input_gradient = context->saved_data["use_up"].toBool()
                                ? reused_memory(input)
                                : at::empty_like(input);
    run_on_its_device(pass);
    const at::Tensor none;
    return {pass.input_gradient,
            pass.residual_gradient,
            pass.scale_gradient,
            pass.shift_gradient,
            none,
            none,
            none,
            none};
  }
};

}  // namespace

bool has_fused_norm(const at::Tensor& input) {
  return input.is_cpu()
             ? input.scalar_type() == at::kFloat && input.is_contiguous()
             : has_norm_rows(input);
}

bool needs_graph(const at::Tensor& input, const NormVectors& vectors,
                 const AfterNorm& after) {
  const auto wanted = [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.requires_grad();
  };
  return at::GradMode::is_enabled() &&
         (wanted(input) || wanted(after.residual) || wanted(vectors.scale) ||
          wanted(vectors.shift));
}

Fork fused_norm(const at::Tensor& input, const NormVectors& vectors,
                NormStats stats, const AfterNorm& after, bool use_up,
                const at::Tensor& sums) {
  if (needs_graph(input, vectors, after)) {
    const variable_list outputs = FusedNorm::apply(
        input,
        after.residual.defined() ? after.residual
                                 : at::empty({0}, input.options()),
        vectors.scale, vectors.shift, Untraced{vectors, sums}, stats,
        after.relu, use_up);
    return {outputs[0], outputs[1]};
  }
  NormForward pass = make_pass(input, vectors, stats, after);
  pass.sums = sums;
  // Running statistics and no backward pass: nobody reads a trace.
  if (!input.is_cpu() && stats.source == NormStats::Source::kRunning)
    pass.trace = {};
  pass.output = use_up ? input : at::empty_like(input);
  run_on_its_device(pass);
  return {pass.output, pass.output};
}

}  // namespace sotta
