#include "engine/network_pass.h"
#include "engine/plane_ops.h"

namespace sotta::engine {

class Network::ForwardPass : public Network::Pass {
 public:
  using Pass::Pass;

  // Keeps the norm layers' inputs.
  void run(float* features) const {
    const bool running = input_.stats.source == NormStats::Source::kRunning;
    if (running) use_running();
    ConvCall stem = stem_call();
    keep(network_.stem_norm_, stem.sink, stem.sums, space_.sums);
    network_.stem_->forward(input_.images, stem, crew_);
    settle(network_.stem_norm_, space_.sums);
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      run_block(i);
    finish(features);
  }

  // Keeps nothing; with running statistics every norm layer is known from the
  // start and happens where its convolution writes.
  void infer(float* features) const {
    use_running();
    ConvCall stem = stem_call();
    stem.sink = norm_relu(network_.stem_norm_, current());
    network_.stem_->forward(input_.images, stem, crew_);
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      infer_block(i);
    const Planes planes = planes_of(network_.blocks_.back().second);
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      average_pool(current(), planes, {image, image + 1}, features);
    });
  }

 private:
  // The block's input, and at its end its output.
  float* current() const { return space_.spare[0].data(); }

  void use_running() const {
    for (size_t i = 0; i < network_.norms_.size(); ++i)
      state(i).use_running(norm_input(i));
  }

  ConvCall stem_call() const {
    ConvCall call;
    call.input = images();
    call.output = planes_of(network_.stem_norm_);
    return call;
  }

  // The first and the second convolution of a block.
  ConvCall first_call(size_t index) const {
    ConvCall call;
    call.input = input_of(index);
    call.output = planes_of(network_.blocks_[index].first);
    call.source.values = current();
    return call;
  }
  ConvCall second_call(const Block& block) const {
    ConvCall call;
    call.input = planes_of(block.first);
    call.output = planes_of(block.second);
    return call;
  }

  // A sink that stores a norm layer's input, with statistics if need be.
  void keep(size_t norm, Sink& sink, SumSlots*& sums, SumSlots& slots) const {
    sink.out = raw(norm);
    if (input_.stats.source == NormStats::Source::kRunning) return;
    sink.kind = Sink::Kind::kStatistics;
    sink.centre = state(norm).centre(norm_input(norm));
    sums = &slots;
  }

  // The statistics are complete: what the norm layer does is known.
  void settle(size_t norm, const SumSlots& sums) const {
    if (input_.stats.source == NormStats::Source::kRunning) return;
    const Planes planes = planes_of(norm);
    state(norm).use_batch(
        norm_input(norm), input_.stats, sums.row(0, planes.channels),
        sums.row(1, planes.channels),
        static_cast<double>(planes.images * planes.height * planes.width));
  }

  // The end of what comes before block `next`, whose output the block reads.
  BlockEnd end_before(size_t next) const {
    BlockEnd end;
    end.out = current();
    if (next == 0) {
      const NormState& norm = state(network_.stem_norm_);
      end.raw = raw(network_.stem_norm_);
      end.scale = norm.factor();
      end.shift = norm.offset();
      return end;
    }
    const Block& block = network_.blocks_[next - 1];
    end.raw = raw(block.second);
    end.scale = state(block.second).factor();
    end.shift = block_offset(block);
    end.other = block.shortcut ? raw(*block.shortcut) : current();
    if (block.shortcut) end.other_scale = state(*block.shortcut).factor();
    end.bits = space_.bits[next - 1].data();
    return end;
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const BlockEnd end = end_before(index);
    ConvCall first = first_call(index);
    first.prepare = [&](Range images) {
      finish_block(end, first.input, images);
    };
    keep(block.first, first.sink, first.sums, space_.sums);
    if (block.shortcut)
      keep(*block.shortcut, first.shortcut_sink, first.shortcut_sums,
           space_.shortcut_sums);
    block.conv1->forward(first, crew_);
    settle(block.first, space_.sums);
    if (block.shortcut) settle(*block.shortcut, space_.shortcut_sums);

    ConvCall second = second_call(block);
    second.source.kind = Source::Kind::kNormRelu;
    second.source.values = raw(block.first);
    second.source.scale = state(block.first).factor();
    second.source.shift = state(block.first).offset();
    keep(block.second, second.sink, second.sums, space_.sums);
    block.conv2->forward(second, crew_);
    settle(block.second, space_.sums);
  }

  void finish(float* features) const {
    const BlockEnd end = end_before(network_.blocks_.size());
    const Planes planes = planes_of(network_.blocks_.back().second);
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      finish_block(end, planes, {image, image + 1});
      average_pool(current(), planes, {image, image + 1}, features);
    });
  }

  Sink norm_relu(size_t norm, float* out) const {
    Sink sink;
    sink.kind = Sink::Kind::kNormRelu;
    sink.out = out;
    sink.scale = state(norm).factor();
    sink.shift = state(norm).offset();
    return sink;
  }

  void infer_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    float* inner = space_.spare[1].data();
    float* shortcut = inner + planes_of(block.first).size();
    ConvCall first = first_call(index);
    first.sink = norm_relu(block.first, inner);
    first.shortcut_sink.out = shortcut;
    block.conv1->forward(first, crew_);

    ConvCall second = second_call(block);
    second.source.values = inner;
    second.sink = norm_relu(block.second, current());
    second.sink.kind = Sink::Kind::kNormAddRelu;
    second.sink.shift = block_offset(block);
    second.sink.other = block.shortcut ? shortcut : current();
    if (block.shortcut)
      second.sink.other_scale = state(*block.shortcut).factor();
    block.conv2->forward(second, crew_);
  }
};

void Network::infer(const NetworkInput& input, int64_t threads,
                    Workspace& space, float* features) const {
  ForwardPass(*this, input, threads, space).infer(features);
}

void Network::forward(const NetworkInput& input, int64_t threads,
                      Workspace& space, float* features) const {
  ForwardPass(*this, input, threads, space).run(features);
}

}  // namespace sotta::engine
