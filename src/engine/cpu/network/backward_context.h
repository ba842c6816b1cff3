#pragma once

#include "engine/cpu/network/pass_context.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

// What the backward passes of post-activation and pre-activation networks
// share.
class Network::BackwardContext : public Network::PassContext {
 public:
  BackwardContext(const Network& network, const NetworkInput& input,
                  int64_t threads, Workspace& space,
                  const NetworkGradients& gradients)
      : PassContext(network, input, threads, space), gradients_(gradients) {}

 protected:
  // The gradient of a block's input, or of the last block's output.
  float* gradient(size_t block) const {
    return space_.at(plan().gradients[block]);
  }

  // Calls work(image, epilogue) for every image as a task, with an epilogue
  // that has sums of its own, and adds these up.
  template <class Work>
  void for_each_image(const Epilogue& epilogue, const ActivationShape& shape,
                      const Work& work) const {
    space_.sums.reserve(input_.count, shape.channels);
    context_.run(input_.count, [&](int64_t image, int64_t) {
      work({image, image + 1},
           task_epilogue(epilogue, &space_.sums, image, shape));
    });
    space_.sums.total(input_.count, shape.channels);
  }

  static Epilogue store_epilogue(float* out) {
    Epilogue epilogue;
    epilogue.out = out;
    return epilogue;
  }

  // Through the ReLU behind a norm layer: takes the sums for it.
  Epilogue relu_gradient_epilogue(size_t norm, float* out) const {
    Epilogue epilogue;
    epilogue.kind = Epilogue::Kind::kReluGradient;
    epilogue.out = out;
    epilogue.pre_norm = pre_norm(norm);
    epilogue.scale = state(norm).factor();
    epilogue.shift = state(norm).offset();
    epilogue.centre = state(norm).mean();
    return epilogue;
  }

  // Reads the gradient of a norm layer's input from that of its output.
  Prologue norm_backward_prologue(size_t norm, const float* gradient) const {
    Prologue prologue;
    prologue.kind = Prologue::Kind::kNormBackward;
    prologue.values = gradient;
    prologue.pre_norm = pre_norm(norm);
    prologue.scale = state(norm).gradient_factor();
    prologue.slope = state(norm).gradient_slope();
    prologue.shift = state(norm).gradient_offset();
    return prologue;
  }

  // All sums are taken: writes the gradients of a norm layer's scale and shift,
  // and sets its backward vectors. Row 0 has the sums of the gradient, `row`
  // those of its products with the input.
  void finish_norm_gradient(size_t norm, int64_t row) const {
    const NormLayer& layer = network_.norms_[norm];
    float* scale_gradient = gradients_.affine + 2 * layer.offset;
    state(norm).set_backward(space_.sums.row(0, layer.channels),
                             space_.sums.row(row, layer.channels),
                             scale_gradient, scale_gradient + layer.channels);
  }

  void convolve(const Conv& conv, ConvCall call) const {
    call.input = shape_of(conv.norm);
    if (conv.winograd)
      conv.winograd->backward(call, context_);
    else
      conv.direct->backward(call, geometry(conv), context_);
  }

  const NetworkGradients& gradients_;
};

}  // namespace sotta::engine
