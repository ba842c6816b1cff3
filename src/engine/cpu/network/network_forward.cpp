// The forward pass. Per convolution it goes twice over memory, once to read and
// once to write, whatever stands between two convolutions:
//
//   with batch   prologue: norm and ReLU of the layer before, whose statistics
//   statistics   are known by now; epilogue: store, sums for the statistics of
//                this one. The residual sum at a block's end is computed image
//                by image before the next block's first convolution reads it.
//   inference    epilogue: norm, ReLU and residual sum; no prologue.
#include <algorithm>
#include <functional>
#include <vector>

#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/forward_context.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

class Network::ForwardPass : public Network::ForwardContext {
 public:
  using ForwardContext::ForwardContext;

  // Keeps what the backward pass needs.
  void run(float* features) const {
    if (running()) use_running();
    run_stem();
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      run_block(i);
    run_end(features);
  }

  // See Network::recompute_block(). The block's input is recomputed by its
  // residual stream: from where that begins, all residual sums up to this block
  // are added again, image by image, before the first convolution reads them.
  void recompute_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    float* input = space_.at(*plan().recompute_inputs[index]);
    std::vector<ResidualAdd> sums(index + 1);
    const size_t from = begin_recompute(index, input);
    for (size_t i = from; i <= index; ++i)
      sums[i] = residual_add_before(i, input);
    ConvCall first;
    first.input = input_shape(index);
    first.prologue.values = input;
    first.prepare = [&](Range images) {
      for (size_t i = from; i <= index; ++i)
        compute_input(i, sums[i], images);
    };
    first.epilogue.out = pre_norm(block.path[0].norm);
    // A fused shortcut is computed too: it writes what is there already.
    if (block.has_fused_shortcut())
      first.shortcut_epilogue.out = pre_norm(block.shortcut->norm);
    convolve(block.path[0], first);
    for (size_t i = 1; i + 1 < block.path.size(); ++i) {
      ConvCall next = call_after(block.path[i - 1].norm);
      next.epilogue.out = pre_norm(block.path[i].norm);
      convolve(block.path[i], next);
    }
  }

  // Keeps nothing: with running statistics every norm layer's vectors are known
  // from the start, so that it is an epilogue of its own convolution. All
  // activations lie in one buffer:
  //
  //   | block input, then its output | shortcut | inside 1 | inside 2 | ..
  void infer(float* features) const {
    if (has_lanes())
      use_running_of_lanes();
    else
      use_running();
    infer_stem();
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      infer_block(i);
    const ActivationShape shape = shape_of(network_.blocks_.back().end());
    context_.run(input_.count, [&](int64_t image, int64_t) {
      average_pool(inference_buffer(), shape, {image, image + 1}, features);
    });
  }

 private:
  float* inference_buffer() const { return space_.at(plan().inference); }

  bool has_lanes() const { return input_.lanes > 1; }

  // Factors and offsets of all lanes.
  void use_running_of_lanes() const {
    const size_t norms = network_.norms_.size();
    space_.lane_norms.resize(norms);
    const NormLayer& last = network_.norms_.back();
    const int64_t all_channels = last.offset + last.channels;
    for (size_t i = 0; i < norms; ++i) {
      Workspace::LaneVectors& vectors = space_.lane_norms[i];
      const int64_t channels = state(i).channels();
      ensure_size(vectors.factor, input_.lanes * channels);
      ensure_size(vectors.offset, input_.lanes * channels);
      NormPointers pointers = norm_pointers(i);
      for (int64_t lane = 0; lane < input_.lanes; ++lane) {
        state(i).use_running(pointers);
        std::copy_n(state(i).factor(), channels,
                    vectors.factor.data() + lane * channels);
        std::copy_n(state(i).offset(), channels,
                    vectors.offset.data() + lane * channels);
        pointers.scale += 2 * all_channels;
        pointers.shift += 2 * all_channels;
        pointers.running_mean += all_channels;
        pointers.running_var += all_channels;
      }
    }
  }

  // A norm layer's vectors in infer(), of all lanes.
  const float* factors(size_t norm) const {
    return has_lanes() ? space_.lane_norms[norm].factor.data()
                       : state(norm).factor();
  }
  const float* offsets(size_t norm) const {
    return has_lanes() ? space_.lane_norms[norm].offset.data()
                       : state(norm).offset();
  }
  const float* block_offsets(const Block& block) const {
    if (!has_lanes()) return block_offset(block);
    const float* own = offsets(block.end());
    if (!block.shortcut) return own;
    const float* other = offsets(block.shortcut->norm);
    const int64_t count = input_.lanes * state(block.end()).channels();
    ensure_size(space_.lane_block_offset, count);
    std::transform(own, own + count, other, space_.lane_block_offset.data(),
                   std::plus<>());
    return space_.lane_block_offset.data();
  }

  // What computes the input of block `next` at `out`: the norm, residual sum
  // and ReLU at the end of the block before, or of the stem. Without a shortcut
  // the addend is what lies at `out` already.
  ResidualAdd residual_add_before(size_t next, float* out) const {
    ResidualAdd residual;
    residual.out = out;
    if (next == 0) {
      const NormState& norm = state(network_.stem_.norm);
      residual.pre_norm = pre_norm(network_.stem_.norm);
      residual.scale = norm.factor();
      residual.shift = norm.offset();
      return residual;
    }
    const Block& block = network_.blocks_[next - 1];
    residual.pre_norm = pre_norm(block.end());
    residual.scale = state(block.end()).factor();
    residual.shift = block_offset(block);
    residual.addend = block.shortcut ? pre_norm(block.shortcut->norm) : out;
    if (block.shortcut)
      residual.addend_scale = state(block.shortcut->norm).factor();
    residual.relu_mask = space_.relu_masks[next - 1].data();
    return residual;
  }

  // Computes the input of block `next` for some images.
  void compute_input(size_t next, const ResidualAdd& residual,
                     Range images) const {
    if (next == 0 && network_.max_pools_)
      max_pool_stem(images, residual.out);
    else
      add_residual(residual, input_shape(next), images);
  }

  // Begins to recompute a block's input at `out`: returns the first block of
  // its residual stream whose input is still to be computed there, from kept
  // pre-norm activations. Runs the stem again if the stream begins with it.
  size_t begin_recompute(size_t index, float* out) const {
    size_t from = index;
    while (from > 0 && !network_.blocks_[from - 1].shortcut)
      --from;
    if (from > 0 || !plan().recomputes_stem()) return from;
    const size_t norm = network_.stem_.norm;
    const bool fuse_norm = index > 0 && !network_.max_pools_;
    ConvCall stem;
    stem.epilogue.out = pre_norm(norm);
    if (fuse_norm) stem.epilogue = norm_relu_epilogue(norm, out);
    convolve_stem(stem, space_.at(plan().images));
    return fuse_norm ? 1 : 0;
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    float* input = space_.at(plan().inputs[index]);
    const ResidualAdd residual = residual_add_before(index, input);
    ConvCall first;
    first.input = input_shape(index);
    first.prologue.values = input;
    ConvCall shortcut = first;
    first.prepare = [&](Range images) {
      compute_input(index, residual, images);
    };
    store_pre_norm(block.path[0].norm, first, space_.sums);
    if (block.shortcut)
      store_pre_norm(block.shortcut->norm, shortcut, space_.shortcut_sums);
    convolve_first(block, first, shortcut);
    finish_statistics(block.path[0].norm, space_.sums);
    if (block.shortcut)
      finish_statistics(block.shortcut->norm, space_.shortcut_sums);
    for (size_t i = 1; i < block.path.size(); ++i)
      run_conv(block.path[i - 1].norm, block.path[i]);
  }

  void max_pool_stem(Range images, float* out) const {
    const size_t stem = network_.stem_.norm;
    max_pool(norm_relu_prologue(stem), shape_of(stem), images, out,
             space_.argmax.data());
  }

  // A convolution inside a block, behind norm layer `before`.
  void run_conv(size_t before, const Conv& conv) const {
    ConvCall call = call_after(before);
    store_pre_norm(conv.norm, call, space_.sums);
    convolve(conv, call);
    finish_statistics(conv.norm, space_.sums);
  }

  // The end of the last block, and average pooling.
  void run_end(float* features) const {
    const ResidualAdd residual = residual_add_before(
        network_.blocks_.size(), space_.at(plan().inputs.back()));
    const ActivationShape shape = shape_of(network_.blocks_.back().end());
    context_.run(input_.count, [&](int64_t image, int64_t) {
      add_residual(residual, shape, {image, image + 1});
      average_pool(residual.out, shape, {image, image + 1}, features);
    });
  }

  Epilogue norm_relu_epilogue(size_t norm, float* out) const {
    Epilogue epilogue;
    epilogue.kind = Epilogue::Kind::kNormRelu;
    epilogue.out = out;
    epilogue.scale = factors(norm);
    epilogue.shift = offsets(norm);
    if (has_lanes()) epilogue.images_per_lane = input_.count / input_.lanes;
    return epilogue;
  }

  // Norm, residual sum and ReLU at a block's end, into inference_buffer().
  Epilogue norm_add_relu_epilogue(const Block& block,
                                  const float* shortcut) const {
    Epilogue epilogue = norm_relu_epilogue(block.end(), inference_buffer());
    epilogue.kind = Epilogue::Kind::kNormAddRelu;
    epilogue.shift = block_offsets(block);
    epilogue.addend = block.shortcut ? shortcut : inference_buffer();
    if (block.shortcut) epilogue.addend_scale = factors(block.shortcut->norm);
    return epilogue;
  }

  void infer_stem() const {
    const ActivationShape shape = shape_of(network_.stem_.norm);
    // With max-pooling the stem's output lies behind the images and the pooled
    // activations, which take the images' place.
    float* out = inference_buffer();
    if (network_.max_pools_)
      out += std::max(image_shape().size(), input_shape(0).size());
    ConvCall stem;
    stem.epilogue = norm_relu_epilogue(network_.stem_.norm, out);
    convolve_stem(stem, inference_buffer());
    if (!network_.max_pools_) return;
    Prologue prologue;
    prologue.values = out;
    context_.run(input_.count, [&](int64_t image, int64_t) {
      max_pool(prologue, shape, {image, image + 1}, inference_buffer(),
               nullptr);
    });
  }

  void infer_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const ActivationShape output = shape_of(block.end());
    ConvCall call;
    call.input = input_shape(index);
    call.prologue.values = inference_buffer();
    float* room =
        inference_buffer() + std::max(call.input.size(), output.size());
    ConvCall shortcut = call;
    if (block.shortcut) {
      shortcut.epilogue.out = room;
      room += output.size();
    }
    for (const Conv& conv : block.path) {
      const bool last = conv.norm == block.end();
      call.epilogue = last
                          ? norm_add_relu_epilogue(block, shortcut.epilogue.out)
                          : norm_relu_epilogue(conv.norm, room);
      if (conv.norm == block.path.front().norm)
        convolve_first(block, call, shortcut);
      else
        convolve(conv, call);
      call.input = shape_of(conv.norm);
      call.prologue.values = room;
      room += call.input.size();
    }
  }
};

void Network::infer(const NetworkInput& input, int64_t threads,
                    Workspace& space, float* features) const {
  if (pre_activation_)
    return infer_pre_activation(input, threads, space, features);
  ForwardPass(*this, input, threads, space).infer(features);
}

void Network::forward(const NetworkInput& input, int64_t threads,
                      Workspace& space, float* features) const {
  if (pre_activation_)
    return forward_pre_activation(input, threads, space, features);
  ForwardPass(*this, input, threads, space).run(features);
}

void Network::recompute_block(const NetworkInput& input, int64_t threads,
                              Workspace& space, size_t block) const {
  ForwardPass(*this, input, threads, space).recompute_block(block);
}

}  // namespace sotta::engine
