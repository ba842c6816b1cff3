#include <algorithm>

#include "engine/max_pool.h"
#include "engine/network_pass.h"
#include "engine/plane_ops.h"

namespace sotta::engine {

class Network::ForwardPass : public Network::Pass {
 public:
  using Pass::Pass;

  // Keeps the norm layers' inputs.
  void run(float* features) const {
    if (running()) use_running();
    ConvCall stem;
    keep(network_.stem_.norm, stem, space_.sums);
    convolve_stem(stem);
    settle(network_.stem_.norm, space_.sums);
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      run_block(i);
    finish(features);
  }

  // Keeps nothing; with running statistics every norm layer is known from the
  // start and happens where its convolution writes.
  void infer(float* features) const {
    use_running();
    infer_stem();
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      infer_block(i);
    const Planes planes = planes_of(network_.blocks_.back().end());
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      average_pool(current(), planes, {image, image + 1}, features);
    });
  }

 private:
  // The block's input, and at its end its output.
  float* current() const { return space_.spare.data(); }

  bool running() const {
    return input_.stats.source == NormStats::Source::kRunning;
  }

  void use_running() const {
    for (size_t i = 0; i < network_.norms_.size(); ++i)
      state(i).use_running(norm_input(i));
  }

  void convolve_stem(ConvCall call) const {
    const Planes planes = call.input = images();
    call.output = planes_of(network_.stem_.norm);
    if (network_.small_stem_)
      return network_.small_stem_->forward(input_.images, call, crew_);
    float* blocked = current();
    const int64_t size = planes.channels * planes.height * planes.width;
    call.source.values = blocked;
    call.prepare = [&](Range images) {
      for (int64_t n = images.begin; n < images.end; ++n)
        pad_image(input_.images + n * size, planes, /*border=*/0,
                  blocked + n * planes.image());
    };
    convolve(network_.stem_, call);
  }

  // Stores a norm layer's input, with statistics if need be.
  void keep(size_t norm, ConvCall& call, SumSlots& slots) const {
    call.sink.out = raw(norm);
    if (running()) return;
    call.sink.kind = Sink::Kind::kStatistics;
    call.sink.centre = state(norm).centre(norm_input(norm));
    call.sums = &slots;
  }

  // The statistics are complete: what the norm layer does is known.
  void settle(size_t norm, const SumSlots& sums) const {
    if (running()) return;
    const Planes planes = planes_of(norm);
    state(norm).use_batch(
        norm_input(norm), input_.stats, sums.row(0, planes.channels),
        sums.row(1, planes.channels),
        static_cast<double>(planes.images * planes.height * planes.width));
  }

  void convolve(const Conv& conv, ConvCall call) const {
    call.output = planes_of(conv.norm);
    if (conv.winograd)
      conv.winograd->forward(call, crew_);
    else
      conv.direct->forward(call, geometry(conv), crew_);
  }

  // A block's first convolution and the shortcut's, which reads the same.
  void convolve_first(const Block& block, ConvCall first,
                      const ConvCall& shortcut) const {
    const bool apart = block.shortcut && block.shortcut->direct;
    if (!apart) {
      first.shortcut_sink = shortcut.sink;
      first.shortcut_sums = shortcut.sums;
    }
    convolve(block.path.front(), first);
    if (apart) convolve(*block.shortcut, shortcut);
  }

  // The end of what comes before block `next`, whose output the block reads.
  BlockEnd end_before(size_t next) const {
    BlockEnd end;
    end.out = current();
    if (next == 0) {
      const NormState& norm = state(network_.stem_.norm);
      end.raw = raw(network_.stem_.norm);
      end.scale = norm.factor();
      end.shift = norm.offset();
      return end;
    }
    const Block& block = network_.blocks_[next - 1];
    end.raw = raw(block.end());
    end.scale = state(block.end()).factor();
    end.shift = block_offset(block);
    end.other = block.shortcut ? raw(block.shortcut->norm) : current();
    if (block.shortcut) end.other_scale = state(block.shortcut->norm).factor();
    end.bits = space_.bits[next - 1].data();
    return end;
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const BlockEnd end = end_before(index);
    ConvCall first;
    first.input = input_of(index);
    first.source.values = current();
    ConvCall shortcut = first;
    first.prepare = [&](Range images) {
      if (index == 0 && network_.pools_)
        pool_stem(images);
      else
        finish_block(end, first.input, images);
    };
    keep(block.path[0].norm, first, space_.sums);
    if (block.shortcut)
      keep(block.shortcut->norm, shortcut, space_.shortcut_sums);
    convolve_first(block, first, shortcut);
    settle(block.path[0].norm, space_.sums);
    if (block.shortcut) settle(block.shortcut->norm, space_.shortcut_sums);
    for (size_t i = 1; i < block.path.size(); ++i)
      run_next(block.path[i - 1].norm, block.path[i]);
  }

  // What comes out of a norm layer, made while it is read.
  Source through(size_t norm) const {
    Source source;
    source.kind = Source::Kind::kNormRelu;
    source.values = raw(norm);
    source.scale = state(norm).factor();
    source.shift = state(norm).offset();
    return source;
  }

  void pool_stem(Range images) const {
    const size_t stem = network_.stem_.norm;
    max_pool(through(stem), planes_of(stem), images, current(),
             space_.winners.data());
  }

  void run_next(size_t before, const Conv& conv) const {
    ConvCall call;
    call.input = planes_of(before);
    call.source = through(before);
    keep(conv.norm, call, space_.sums);
    convolve(conv, call);
    settle(conv.norm, space_.sums);
  }

  void finish(float* features) const {
    const BlockEnd end = end_before(network_.blocks_.size());
    const Planes planes = planes_of(network_.blocks_.back().end());
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

  // The sum at a block's end, into current().
  Sink norm_add_relu(const Block& block, const float* shortcut) const {
    Sink sink = norm_relu(block.end(), current());
    sink.kind = Sink::Kind::kNormAddRelu;
    sink.shift = block_offset(block);
    sink.other = block.shortcut ? shortcut : current();
    if (block.shortcut) sink.other_scale = state(block.shortcut->norm).factor();
    return sink;
  }

  void infer_stem() const {
    const Planes planes = planes_of(network_.stem_.norm);
    // Behind the images and what comes of them.
    float* out = current();
    if (network_.pools_) out += std::max(images().size(), input_of(0).size());
    ConvCall stem;
    stem.sink = norm_relu(network_.stem_.norm, out);
    convolve_stem(stem);
    if (!network_.pools_) return;
    Source source;
    source.values = out;
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      max_pool(source, planes, {image, image + 1}, current(), nullptr);
    });
  }

  void infer_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    const Planes output = planes_of(block.end());
    ConvCall call;
    call.input = input_of(index);
    call.source.values = current();
    float* room = current() + std::max(call.input.size(), output.size());
    ConvCall shortcut = call;
    if (block.shortcut) {
      shortcut.sink.out = room;
      room += output.size();
    }
    for (const Conv& conv : block.path) {
      const bool last = conv.norm == block.end();
      call.sink = last ? norm_add_relu(block, shortcut.sink.out)
                       : norm_relu(conv.norm, room);
      if (conv.norm == block.path.front().norm)
        convolve_first(block, call, shortcut);
      else
        convolve(conv, call);
      call.input = planes_of(conv.norm);
      call.source.values = room;
      room += call.input.size();
    }
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
