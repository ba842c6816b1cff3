// The backward pass of a network with pre-activation. With G' the gradient of a
// block's output x' (see pre_activation_forward.cpp):
//
//   d2 = conv2 backward of G', through norm2's ReLU     [sums for norm2]
//   d1 = conv1 backward of norm2's backward of d2, plus the shortcut's backward
//        of G', through norm1's ReLU                    [sums for norm1]
//   G  = norm1's backward of d1, plus G' if the shortcut is the identity
//
// The last step needs the sums, so it is done where the next convolution, which
// is the second of the block before, begins to read G: image by image, in the
// array of G' if there is no shortcut.
#include "engine/cpu/network/backward_context.h"

namespace sotta::engine {

class Network::PreActivationBackward : public Network::BackwardContext {
 public:
  using BackwardContext::BackwardContext;

  void run() const {
    run_end();
    for (size_t i = network_.blocks_.size(); i-- > 0;) {
      if (plan().recomputes(i))
        network_.recompute_pre_activation(input_, context_.threads, space_, i);
      run_block(i);
    }
    if (gradients_.images) run_images();
    space_.stem.mark_valid();
  }

 private:
  size_t input_norm(size_t block) const {
    return block > 0 ? network_.blocks_[block - 1].end() : network_.stem_.norm;
  }
  // Behind the norm layer that reads a block's input, or the network's output.
  float* behind_norm(size_t block) const {
    return space_.at(plan().inner_gradients[block][0]);
  }

  // Average pooling and the last ReLU.
  void run_end() const {
    const size_t end = network_.blocks_.size();
    const size_t norm = input_norm(end);
    const ActivationShape shape = shape_of(norm);
    const Epilogue epilogue = relu_gradient_epilogue(norm, behind_norm(end));
    for_each_image(epilogue, shape, [&](Range one, const Epilogue& mine) {
      average_pool_backward(gradients_.features, shape, one, epilogue.out);
      apply_epilogue(mine, shape, one,
                     epilogue.out + one.begin * shape.image_size());
    });
    finish_norm_gradient(norm, 1);
  }

  // The gradient of a block's input, or of the network's output, at gradient().
  void compute_gradient(size_t block, Range images) const {
    const size_t norm = input_norm(block);
    const bool adds = block < network_.blocks_.size() &&
                      !network_.blocks_[block].shortcut.has_value();
    NormGradientAdd sum;
    sum.gradient = behind_norm(block);
    sum.pre_norm = pre_norm(norm);
    sum.scale = state(norm).gradient_factor();
    sum.slope = state(norm).gradient_slope();
    sum.shift = state(norm).gradient_offset();
    sum.addend = adds ? gradient(block) : nullptr;
    sum.out = gradient(block);
    add_norm_gradient(sum, shape_of(norm), images);
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const size_t inner = block.path[0].norm;
    ConvCall second;
    second.output = shape_of(inner);
    second.prologue.values = gradient(index + 1);
    second.prepare = [&](Range images) { compute_gradient(index + 1, images); };
    second.epilogue = relu_gradient_epilogue(
        inner, space_.at(plan().inner_gradients[index][1]));
    second.sums = &space_.sums;
    convolve(block.path[1], second);
    finish_norm_gradient(inner, 1);
    run_first_conv(index, second.epilogue.out);
  }

  void run_first_conv(size_t index, const float* inner_gradient) const {
    const Block& block = network_.blocks_[index];
    const size_t norm = input_norm(index);
    ConvCall first;
    first.output = shape_of(norm);
    first.prologue = norm_backward_prologue(block.path[0].norm, inner_gradient);
    first.epilogue = relu_gradient_epilogue(norm, behind_norm(index));
    first.sums = &space_.sums;
    if (block.shortcut) {
      ConvCall shortcut;
      shortcut.output = first.output;
      shortcut.prologue.values = gradient(index + 1);
      shortcut.epilogue = store_epilogue(gradient(index));
      if (block.has_fused_shortcut()) {
        first.shortcut_prologue = shortcut.prologue;
      } else {
        convolve(*block.shortcut, shortcut);
        first.epilogue.addend = shortcut.epilogue.out;
      }
    }
    convolve(block.path[0], first);
    finish_norm_gradient(norm, 1);
  }

  // The stem's convolution, to the images.
  void run_images() const {
    ConvCall call;
    call.input = shape_of(network_.stem_.norm);
    call.output = image_shape();
    call.prologue.values = gradient(0);
    context_.run(input_.count, [&](int64_t image, int64_t) {
      compute_gradient(0, {image, image + 1});
    });
    network_.stride1_stem_->backward(call, gradients_.images, context_);
  }
};

void Network::backward_pre_activation(const NetworkInput& input,
                                      int64_t threads, Workspace& space,
                                      const NetworkGradients& gradients) const {
  PreActivationBackward(*this, input, threads, space, gradients).run();
}

}  // namespace sotta::engine
