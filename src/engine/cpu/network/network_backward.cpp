#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/network_pass.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

class Network::BackwardPass : public Network::Pass {
 public:
  BackwardPass(const Network& network, const NetworkInput& input,
               int64_t threads, Workspace& space,
               const NetworkGradients& gradients)
      : Pass(network, input, threads, space), gradients_(gradients) {}

  void run() const {
    start();
    for (size_t i = network_.blocks_.size(); i-- > 0;) {
      if (plan().makes_again(i))
        network_.make_again(input_, crew_.threads, space_, i);
      run_block(i);
    }
    if (network_.pools_) unpool();
    if (gradients_.images) finish_images();
    space_.stem.output_stays();
  }

 private:
  // The gradient of a block's input, or of the last block's output.
  float* gradient(size_t block) const {
    return space_.at(plan().gradients[block]);
  }
  float* stem_gradient() const { return space_.at(plan().stem_gradient); }

  // From the features to the last block's output.
  void start() const {
    const size_t last = network_.blocks_.size() - 1;
    const Planes planes = planes_of(network_.blocks_[last].end());
    const Sink sink = at_block_end(last, gradient(last + 1));
    each_image(sink, planes, [&](Range one, const Sink& mine) {
      spread_gradient(gradients_.features, planes, one, sink.out);
      apply_sink(mine, planes, one, sink.out + one.begin * planes.image());
    });
    go_back_end(last);
  }

  // Calls work(image, sink) for every image, with a sink of its own, and adds
  // up their sums.
  template <class Work>
  void each_image(const Sink& sink, const Planes& planes,
                  const Work& work) const {
    space_.sums.reserve(input_.count, planes.channels);
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      work({image, image + 1}, with_slot(sink, &space_.sums, image, planes));
    });
    space_.sums.total(input_.count, planes.channels);
  }

  // Through the ReLU and the sum at a block's end.
  Sink at_block_end(size_t index, float* out) const {
    const Block& block = network_.blocks_[index];
    Sink sink;
    sink.kind = Sink::Kind::kBlockGradient;
    sink.out = out;
    sink.bits = space_.bits[index].data();
    sink.raw = raw(block.end());
    sink.centre = state(block.end()).mean();
    if (block.shortcut) {
      sink.raw2 = raw(block.shortcut->norm);
      sink.centre2 = state(block.shortcut->norm).mean();
    }
    return sink;
  }

  static Sink stored(float* out) {
    Sink sink;
    sink.out = out;
    return sink;
  }

  // Through the ReLU after a norm layer.
  Sink at_norm(size_t norm, float* out) const {
    Sink sink;
    sink.kind = Sink::Kind::kReluGradient;
    sink.out = out;
    sink.raw = raw(norm);
    sink.scale = state(norm).factor();
    sink.shift = state(norm).offset();
    sink.centre = state(norm).mean();
    return sink;
  }

  // The gradient of a norm layer's input, made while it is read.
  Source through(size_t norm, const float* gradient) const {
    Source source;
    source.kind = Source::Kind::kNormBackward;
    source.values = gradient;
    source.raw = raw(norm);
    source.scale = state(norm).gradient_factor();
    source.slope = state(norm).gradient_slope();
    source.shift = state(norm).gradient_offset();
    return source;
  }

  // The sums are complete: writes a norm layer's gradients, and what its input
  // gradient takes is known. Products are in row `row`.
  void go_back(size_t norm, int64_t row) const {
    const NormLayer& layer = network_.norms_[norm];
    float* scale_gradient = gradients_.affine + 2 * layer.offset;
    state(norm).go_back(space_.sums.row(0, layer.channels),
                        space_.sums.row(row, layer.channels), scale_gradient,
                        scale_gradient + layer.channels);
  }

  void go_back_end(size_t index) const {
    const Block& block = network_.blocks_[index];
    go_back(block.end(), 1);
    if (block.shortcut) go_back(block.shortcut->norm, 2);
  }

  void convolve(const Conv& conv, ConvCall call) const {
    call.input = planes_of(conv.norm);
    if (conv.winograd)
      conv.winograd->backward(call, crew_);
    else
      conv.direct->backward(call, geometry(conv), crew_);
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const float* last = gradient(index + 1);
    for (size_t i = block.path.size() - 1; i > 0; --i) {
      const size_t before = block.path[i - 1].norm;
      ConvCall call;
      call.output = planes_of(before);
      call.source = through(block.path[i].norm, last);
      call.sink = at_norm(before, space_.at(plan().inside[index][i - 1]));
      call.sums = &space_.sums;
      convolve(block.path[i], call);
      go_back(before, 1);
      last = call.sink.out;
    }
    run_first(index, last);
  }

  // From a block's first convolution, with what comes through the shortcut, to
  // the block's input.
  void run_first(size_t index, const float* inner) const {
    const Block& block = network_.blocks_[index];
    const Conv& first = block.path.front();
    const float* outer = gradient(index + 1);
    ConvCall call;
    call.output = input_of(index);
    call.source = through(first.norm, inner);
    const bool to_pool = index == 0 && network_.pools_;
    call.sink = at_input(index);
    if (!to_pool) call.sums = &space_.sums;
    if (!block.shortcut)
      call.sink.other = outer;
    else if (block.shortcut->direct)
      call.sink.other = store_shortcut(index, outer);
    else
      call.shortcut_source = through(block.shortcut->norm, outer);
    convolve(first, call);
    if (index > 0)
      go_back_end(index - 1);
    else if (!to_pool)
      go_back(network_.stem_.norm, 1);
  }

  // Through what comes before a block.
  Sink at_input(size_t index) const {
    float* out = gradient(index);
    if (index > 0) return at_block_end(index - 1, out);
    if (network_.pools_) return stored(out);
    return at_norm(network_.stem_.norm, gradients_.images ? out : nullptr);
  }

  // The shortcut's share of the gradient of a block's input.
  const float* store_shortcut(size_t index, const float* outer) const {
    const Conv& shortcut = *network_.blocks_[index].shortcut;
    ConvCall call;
    call.output = input_of(index);
    call.source = through(shortcut.norm, outer);
    call.sink = stored(gradient(index));
    convolve(shortcut, call);
    return call.sink.out;
  }

  // From the pooled output of the stem to its norm layer.
  void unpool() const {
    const size_t stem = network_.stem_.norm;
    const Planes planes = planes_of(stem);
    const Sink sink =
        at_norm(stem, gradients_.images ? stem_gradient() : nullptr);
    each_image(sink, planes, [&](Range one, const Sink& mine) {
      unpool_gradient(gradient(0), space_.winners.data(), planes, one, mine);
    });
    go_back(stem, 1);
  }

  void finish_images() const {
    const Planes planes = images();
    ConvCall call;
    call.input = planes_of(network_.stem_.norm);
    call.output = planes;
    call.source = through(network_.stem_.norm, stem_gradient());
    if (network_.small_stem_)
      return network_.small_stem_->backward(call, gradients_.images, crew_);
    call.sink = stored(space_.at(plan().images));
    convolve(network_.stem_, call);
    const int64_t size = planes.plain_image();
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      unblock_image(call.sink.out + image * planes.image(), planes,
                    gradients_.images + image * size);
    });
  }

  const NetworkGradients& gradients_;
};

void Network::backward(const NetworkInput& input, int64_t threads,
                       Workspace& space,
                       const NetworkGradients& gradients) const {
  BackwardPass(*this, input, threads, space, gradients).run();
}

}  // namespace sotta::engine
