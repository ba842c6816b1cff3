// The forward pass of a network with pre-activation. With the residual stream
// x, a block computes
//
//   u = conv1(relu(norm1(x)))
//   x' = conv2(relu(norm2(u))) + x, or + shortcut(relu(norm1(x))).
//
// Norm and ReLU are prologues, the residual sum an epilogue that also takes the
// sums for the statistics of the norm layer that reads x'. Every x and u is
// kept: they are the norm layers' inputs.
#include <algorithm>
#include <utility>

#include "engine/cpu/network/forward_context.h"

namespace sotta::engine {

class Network::PreActivationForward : public Network::ForwardContext {
 public:
  using ForwardContext::ForwardContext;

  void run(float* features) const {
    if (running()) use_running();
    run_stem();
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      run_block(i);
    pool(pre_norm(network_.blocks_.back().end()), features);
  }

  // Computes the inside of a block again, with the same bits.
  void recompute_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    ConvCall call = call_after(input_norm(index));
    call.epilogue.out = pre_norm(block.path[0].norm);
    // A fused shortcut is computed too, into memory that is free here.
    if (block.has_fused_shortcut())
      call.shortcut_epilogue.out = space_.at(plan().inner_gradients[index][1]);
    convolve(block.path[0], call);
  }

  // Keeps nothing. All activations lie in one buffer:
  //
  //   | x of one stream | x of the next | inside |
  void infer(float* features) const {
    use_running();
    int64_t stream = 0;
    for (size_t i = 0; i <= network_.blocks_.size(); ++i)
      stream = std::max(stream, shape_of(input_norm(i)).size());
    float* x = space_.at(plan().inference);
    float* next = x + stream;
    float* inner = next + stream;
    ConvCall stem;
    stem.epilogue.out = x;
    convolve_stem(stem, nullptr);
    for (size_t i = 0; i < network_.blocks_.size(); ++i) {
      const bool changes = network_.blocks_[i].shortcut.has_value();
      infer_block(i, x, changes ? next : x, inner);
      if (changes) std::swap(x, next);
    }
    pool(x, features);
  }

 private:
  // The norm layer that reads a block's input, or the network's output.
  size_t input_norm(size_t block) const {
    return block > 0 ? network_.blocks_[block - 1].end() : network_.stem_.norm;
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const Conv& inner = block.path[0];
    const Conv& outer = block.path[1];
    ConvCall first = call_after(input_norm(index));
    ConvCall shortcut = first;
    shortcut.epilogue.out = pre_norm(outer.norm);
    store_pre_norm(inner.norm, first, space_.sums);
    convolve_first(block, first, shortcut);
    finish_statistics(inner.norm, space_.sums);

    ConvCall second = call_after(inner.norm);
    store_pre_norm(outer.norm, second, space_.sums);
    second.epilogue.addend =
        pre_norm(block.shortcut ? outer.norm : input_norm(index));
    convolve(outer, second);
    finish_statistics(outer.norm, space_.sums);
  }

  void infer_block(size_t index, float* x, float* out, float* inside) const {
    const Block& block = network_.blocks_[index];
    const size_t inner = block.path[0].norm;
    ConvCall first = call_after(input_norm(index));
    first.prologue.values = x;
    ConvCall shortcut = first;
    shortcut.epilogue.out = out;
    first.epilogue.kind = Epilogue::Kind::kNormRelu;
    first.epilogue.out = inside;
    first.epilogue.scale = state(inner).factor();
    first.epilogue.shift = state(inner).offset();
    convolve_first(block, first, shortcut);

    ConvCall second;
    second.input = shape_of(inner);
    second.prologue.values = inside;
    second.epilogue.out = out;
    second.epilogue.addend = out;
    convolve(block.path[1], second);
  }

  // The last norm layer, ReLU and average pooling of x, image by image.
  void pool(const float* x, float* features) const {
    const size_t norm = network_.blocks_.back().end();
    const ActivationShape shape = shape_of(norm);
    for (int64_t i = 0; i < context_.threads; ++i)
      context_.scratch[i].operand.reserve<float>(shape.image_size());
    ActivationShape one = shape;
    one.images = 1;
    Prologue prologue = norm_relu_prologue(norm);
    prologue.values = x;
    context_.run(input_.count, [&](int64_t image, int64_t worker) {
      float* activated = context_.scratch[worker].operand.as<float>();
      pad_planes(prologue, shape, {image, image + 1}, /*border=*/0, activated);
      average_pool(activated, one, {0, 1}, features + image * shape.channels);
    });
  }
};

void Network::infer_pre_activation(const NetworkInput& input, int64_t threads,
                                   Workspace& space, float* features) const {
  PreActivationForward(*this, input, threads, space).infer(features);
}

void Network::forward_pre_activation(const NetworkInput& input, int64_t threads,
                                     Workspace& space, float* features) const {
  PreActivationForward(*this, input, threads, space).run(features);
}

void Network::recompute_pre_activation(const NetworkInput& input,
                                       int64_t threads, Workspace& space,
                                       size_t block) const {
  PreActivationForward(*this, input, threads, space).recompute_block(block);
}

}  // namespace sotta::engine
