#include "engine/network_pass.h"
#include "engine/plane_ops.h"

namespace sotta::engine {

class Network::BackwardPass : public Network::Pass {
 public:
  BackwardPass(const Network& network, const NetworkInput& input,
               int64_t threads, Workspace& space,
               const NetworkGradients& gradients)
      : Pass(network, input, threads, space), gradients_(gradients) {
    take_room(planes_of(network.blocks_.back().second));
  }

  void run() {
    start();
    for (size_t i = network_.blocks_.size(); i-- > 0;)
      run_block(i);
    if (gradients_.images) finish_images();
  }

 private:
  // Gradients at the end and in the middle of a block share a buffer where they
  // fit; next_ is in the other one.
  void take_room(const Planes& planes) {
    const int64_t size = planes.size();
    const FloatBuffer& other = space_.spare[1 - room_];
    outer_ = space_.spare[room_].data();
    inner_ =
        2 * size <= space_.spare[room_].size() ? outer_ + size : other.data();
    next_ = other.data();
  }

  // From the features to the last block's output.
  void start() {
    const Block& last = network_.blocks_.back();
    const Planes planes = planes_of(last.second);
    const Sink sink = at_block_end(network_.blocks_.size() - 1);
    space_.sums.reserve(input_.count, planes.channels);
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      const Range one{image, image + 1};
      spread_gradient(gradients_.features, planes, one, inner_);
      apply_sink(with_slot(sink, &space_.sums, image, planes), planes, one,
                 inner_ + image * planes.image());
    });
    space_.sums.total(input_.count, planes.channels);
    go_back_block(last);
  }

  // Through the ReLU and the sum at a block's end, into outer_.
  Sink at_block_end(size_t index) const {
    const Block& block = network_.blocks_[index];
    Sink sink;
    sink.kind = Sink::Kind::kBlockGradient;
    sink.out = outer_;
    sink.bits = space_.bits[index].data();
    sink.raw = raw(block.second);
    sink.centre = state(block.second).mean();
    if (block.shortcut) {
      sink.raw2 = raw(*block.shortcut);
      sink.centre2 = state(*block.shortcut).mean();
    }
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

  void go_back_block(const Block& block) const {
    go_back(block.second, 1);
    if (block.shortcut) go_back(*block.shortcut, 2);
  }

  void run_block(size_t index) {
    const Block& block = network_.blocks_[index];
    ConvCall second;
    second.input = planes_of(block.second);
    second.output = planes_of(block.first);
    second.source = through(block.second, outer_);
    second.sink = at_norm(block.first, inner_);
    second.sums = &space_.sums;
    block.conv2->backward(second, crew_);
    go_back(block.first, 1);

    ConvCall first;
    first.input = planes_of(block.first);
    first.output = input_of(index);
    first.source = through(block.first, inner_);
    first.sums = &space_.sums;
    first.sink = index > 0 ? at_block_end(index - 1)
                           : at_norm(network_.stem_norm_,
                                     gradients_.images ? outer_ : nullptr);
    if (block.shortcut) {
      first.shortcut_source = through(*block.shortcut, outer_);
      first.sink.out = next_;
    } else {
      first.sink.other = outer_;
    }
    block.conv1->backward(first, crew_);
    if (block.shortcut) {
      room_ = 1 - room_;
      take_room(first.output);
    }
    if (index > 0)
      go_back_block(network_.blocks_[index - 1]);
    else
      go_back(network_.stem_norm_, 1);
  }

  void finish_images() const {
    ConvCall call;
    call.input = planes_of(network_.stem_norm_);
    call.output = images();
    call.source = through(network_.stem_norm_, outer_);
    network_.stem_->backward(call, gradients_.images, crew_);
  }

  const NetworkGradients& gradients_;
  size_t room_ = 0;  // the spare buffer with
  float* outer_;     // the gradient of the current block's output
  float* inner_;     // that of its first norm layer's output
  float* next_;      // in the other: the gradient of a strided block's input
};

void Network::backward(const NetworkInput& input, int64_t threads,
                       Workspace& space,
                       const NetworkGradients& gradients) const {
  BackwardPass(*this, input, threads, space, gradients).run();
}

}  // namespace sotta::engine
