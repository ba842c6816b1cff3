#pragma once

#include "engine/cpu/network/pass_context.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

// What the forward passes of post-activation and pre-activation networks share.
class Network::ForwardContext : public Network::PassContext {
 public:
  using PassContext::PassContext;

 protected:
  bool running() const {
    return input_.stats.source == NormStats::Source::kRunning;
  }

  void use_running() const {
    for (size_t i = 0; i < network_.norms_.size(); ++i)
      state(i).use_running(norm_pointers(i));
  }

  // Whether the stem's pre-norm activations and their sums are those of the
  // last pass.
  bool can_reuse_stem() const {
    if (running()) {
      space_.stem.clear_key();
      return false;
    }
    const ActivationShape shape = image_shape();
    const NormLayer& norm = network_.norms_[network_.stem_.norm];
    return space_.stem.lookup(
        {input_.images, shape.images * shape.nchw_image_size()},
        {norm_pointers(network_.stem_.norm).running_mean, norm.channels});
  }

  // `blocked`: memory for the images in NCHW16c, if the stem needs them so.
  void convolve_stem(ConvCall call, float* blocked) const {
    const ActivationShape shape = call.input = image_shape();
    call.output = shape_of(network_.stem_.norm);
    if (network_.stride1_stem_)
      return network_.stride1_stem_->forward(input_.images, call, context_);
    const int64_t size = shape.nchw_image_size();
    call.prologue.values = blocked;
    call.prepare = [&](Range images) {
      for (int64_t n = images.begin; n < images.end; ++n)
        pad_image(input_.images + n * size, shape, /*border=*/0,
                  blocked + n * shape.image_size());
    };
    convolve(network_.stem_, call);
  }

  // Lets a convolution store the input of its norm layer, and take sums for the
  // statistics unless these are the running ones.
  void store_pre_norm(size_t norm, ConvCall& call, PartialSums& slots) const {
    call.epilogue.out = pre_norm(norm);
    if (running()) return;
    call.epilogue.kind = Epilogue::Kind::kStatistics;
    call.epilogue.centre = state(norm).centre(norm_pointers(norm));
    call.sums = &slots;
  }

  // All sums are taken: sets the norm layer's vectors.
  void finish_statistics(size_t norm, const PartialSums& sums) const {
    if (running()) return;
    const ActivationShape shape = shape_of(norm);
    state(norm).use_batch(
        norm_pointers(norm), input_.stats, sums.row(0, shape.channels),
        sums.row(1, shape.channels),
        static_cast<double>(shape.images * shape.height * shape.width));
  }

  void convolve(const Conv& conv, ConvCall call) const {
    call.output = shape_of(conv.norm);
    if (conv.winograd)
      conv.winograd->forward(call, context_);
    else
      conv.direct->forward(call, geometry(conv), context_);
  }

  // A block's first convolution, and the shortcut's, which reads the same.
  void convolve_first(const Block& block, ConvCall first,
                      const ConvCall& shortcut) const {
    if (block.has_fused_shortcut()) {
      first.shortcut_epilogue = shortcut.epilogue;
      first.shortcut_sums = shortcut.sums;
    }
    convolve(block.path.front(), first);
    if (block.shortcut && block.shortcut->direct)
      convolve(*block.shortcut, shortcut);
  }

  // Reads a norm layer's output, after its ReLU, from its input.
  Prologue norm_relu_prologue(size_t norm) const {
    Prologue prologue;
    prologue.kind = Prologue::Kind::kNormRelu;
    prologue.values = pre_norm(norm);
    prologue.scale = state(norm).factor();
    prologue.shift = state(norm).offset();
    return prologue;
  }

  // A convolution that reads a norm layer's output, after its ReLU.
  ConvCall call_after(size_t norm) const {
    ConvCall call;
    call.input = shape_of(norm);
    call.prologue = norm_relu_prologue(norm);
    return call;
  }

  // The stem up to its norm layer's vectors, keeping what the backward pass
  // needs.
  void run_stem() const {
    if (!can_reuse_stem()) {
      ConvCall stem;
      store_pre_norm(network_.stem_.norm, stem, space_.stem.sums);
      convolve_stem(stem, space_.at(plan().images));
    }
    finish_statistics(network_.stem_.norm, space_.stem.sums);
  }
};

}  // namespace sotta::engine
