// The backward pass, from the features' gradient to those of the norm layers'
// scales and shifts, and of the images if they are asked for. Convolution
// weights are frozen: there are no weight gradients.
//
// Of every convolution, the prologue computes the gradient of the norm layer's
// input behind it from that of its output; the epilogue passes the result
// through the ReLU before it and takes the two sums that the norm layer there
// needs. When a convolution is done, so are these sums, and the next can begin:
//
//   dL/dy of norm 2 --[norm backward]--> conv 2 backward --[ReLU mask, sums]-->
//   dL/dy of norm 1 --[norm backward]--> conv 1 backward --[add residual,
//   ..]-->
#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/backward_context.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

class Network::BackwardPass : public Network::BackwardContext {
 public:
  using BackwardContext::BackwardContext;

  void run() const {
    run_end();
    for (size_t i = network_.blocks_.size(); i-- > 0;) {
      if (plan().recomputes(i))
        network_.recompute_block(input_, context_.threads, space_, i);
      run_block(i);
    }
    if (network_.max_pools_) run_max_pool();
    if (gradients_.images) run_images();
    space_.stem.mark_valid();
  }

 private:
  float* stem_gradient() const { return space_.at(plan().stem_gradient); }

  // Average pooling and the end of the last block.
  void run_end() const {
    const size_t last = network_.blocks_.size() - 1;
    const ActivationShape shape = shape_of(network_.blocks_[last].end());
    const Epilogue epilogue = block_gradient_epilogue(last, gradient(last + 1));
    for_each_image(epilogue, shape, [&](Range one, const Epilogue& mine) {
      average_pool_backward(gradients_.features, shape, one, epilogue.out);
      apply_epilogue(mine, shape, one,
                     epilogue.out + one.begin * shape.image_size());
    });
    finish_block_gradients(last);
  }

  // Through the ReLU at a block's end: takes the sums for the norm layers
  // there.
  Epilogue block_gradient_epilogue(size_t index, float* out) const {
    const Block& block = network_.blocks_[index];
    Epilogue epilogue;
    epilogue.kind = Epilogue::Kind::kBlockGradient;
    epilogue.out = out;
    epilogue.relu_mask = space_.relu_masks[index].data();
    epilogue.pre_norm = pre_norm(block.end());
    epilogue.centre = state(block.end()).mean();
    if (block.shortcut) {
      epilogue.pre_norm2 = pre_norm(block.shortcut->norm);
      epilogue.centre2 = state(block.shortcut->norm).mean();
    }
    return epilogue;
  }

  void finish_block_gradients(size_t index) const {
    const Block& block = network_.blocks_[index];
    finish_norm_gradient(block.end(), 1);
    if (block.shortcut) finish_norm_gradient(block.shortcut->norm, 2);
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const float* last = gradient(index + 1);
    for (size_t i = block.path.size() - 1; i > 0; --i) {
      const size_t before = block.path[i - 1].norm;
      ConvCall call;
      call.output = shape_of(before);
      call.prologue = norm_backward_prologue(block.path[i].norm, last);
      call.epilogue = relu_gradient_epilogue(
          before, space_.at(plan().inner_gradients[index][i - 1]));
      call.sums = &space_.sums;
      convolve(block.path[i], call);
      finish_norm_gradient(before, 1);
      last = call.epilogue.out;
    }
    run_first_conv(index, last);
  }

  // A block's first convolution and its shortcut, whose gradients add up to
  // that of the block's input.
  void run_first_conv(size_t index, const float* inner) const {
    const Block& block = network_.blocks_[index];
    const Conv& first = block.path.front();
    const float* outer = gradient(index + 1);
    ConvCall call;
    call.output = input_shape(index);
    call.prologue = norm_backward_prologue(first.norm, inner);
    const bool to_pool = index == 0 && network_.max_pools_;
    call.epilogue = input_epilogue(index);
    if (!to_pool) call.sums = &space_.sums;
    if (!block.shortcut)
      call.epilogue.addend = outer;
    else if (block.shortcut->direct)
      call.epilogue.addend = run_shortcut(index, outer);
    else
      call.shortcut_prologue =
          norm_backward_prologue(block.shortcut->norm, outer);
    convolve(first, call);
    if (index > 0)
      finish_block_gradients(index - 1);
    else if (!to_pool)
      finish_norm_gradient(network_.stem_.norm, 1);
  }

  // Through what stands before a block: the end of another, the stem's norm
  // layer, or max-pooling.
  Epilogue input_epilogue(size_t index) const {
    float* out = gradient(index);
    if (index > 0) return block_gradient_epilogue(index - 1, out);
    if (network_.max_pools_) return store_epilogue(out);
    return relu_gradient_epilogue(network_.stem_.norm,
                                  gradients_.images ? out : nullptr);
  }

  // A shortcut that is not fused: its share of the gradient of the block's
  // input.
  const float* run_shortcut(size_t index, const float* outer) const {
    const Conv& shortcut = *network_.blocks_[index].shortcut;
    ConvCall call;
    call.output = input_shape(index);
    call.prologue = norm_backward_prologue(shortcut.norm, outer);
    call.epilogue = store_epilogue(gradient(index));
    convolve(shortcut, call);
    return call.epilogue.out;
  }

  // Max-pooling and the ReLU before it.
  void run_max_pool() const {
    const size_t stem = network_.stem_.norm;
    const ActivationShape shape = shape_of(stem);
    const Epilogue epilogue = relu_gradient_epilogue(
        stem, gradients_.images ? stem_gradient() : nullptr);
    for_each_image(epilogue, shape, [&](Range one, const Epilogue& mine) {
      max_pool_backward(gradient(0), space_.argmax.data(), shape, one, mine);
    });
    finish_norm_gradient(stem, 1);
  }

  // The stem's convolution, to the images.
  void run_images() const {
    const ActivationShape shape = image_shape();
    ConvCall call;
    call.input = shape_of(network_.stem_.norm);
    call.output = shape;
    call.prologue =
        norm_backward_prologue(network_.stem_.norm, stem_gradient());
    if (network_.stride1_stem_)
      return network_.stride1_stem_->backward(call, gradients_.images,
                                              context_);
    call.epilogue = store_epilogue(space_.at(plan().images));
    convolve(network_.stem_, call);
    const int64_t size = shape.nchw_image_size();
    context_.run(input_.count, [&](int64_t image, int64_t) {
      unblock_image(call.epilogue.out + image * shape.image_size(), shape,
                    gradients_.images + image * size);
    });
  }
};

void Network::backward(const NetworkInput& input, int64_t threads,
                       Workspace& space,
                       const NetworkGradients& gradients) const {
  if (pre_activation_)
    return backward_pre_activation(input, threads, space, gradients);
  BackwardPass(*this, input, threads, space, gradients).run();
}

}  // namespace sotta::engine
