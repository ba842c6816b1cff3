#include <algorithm>
#include <vector>

#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/network_pass.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {

class Network::ForwardPass : public Network::Pass {
 public:
  using Pass::Pass;

  // Keeps the norm layers' inputs.
  void run(float* features) const {
    if (running()) use_running();
    if (!begins_like_the_last()) {
      ConvCall stem;
      keep(network_.stem_.norm, stem, space_.stem.sums);
      convolve_stem(stem, space_.at(plan().images));
    }
    settle(network_.stem_.norm, space_.stem.sums);
    for (size_t i = 0; i < network_.blocks_.size(); ++i)
      run_block(i);
    finish(features);
  }

  // See Network::make_again.
  void make_again(size_t index) const {
    const Block& block = network_.blocks_[index];
    float* input = space_.at(*plan().inputs_again[index]);
    std::vector<BlockEnd> ends(index + 1);
    const size_t from = begin_input(index, input);
    for (size_t i = from; i <= index; ++i)
      ends[i] = end_before(i, input);
    ConvCall first;
    first.input = input_of(index);
    first.source.values = input;
    first.prepare = [&](Range images) {
      for (size_t i = from; i <= index; ++i)
        finish_before(i, ends[i], images);
    };
    first.sink.out = raw(block.path[0].norm);
    // Writes once more what is there.
    if (block.shortcut_beside())
      first.shortcut_sink.out = raw(block.shortcut->norm);
    convolve(block.path[0], first);
    for (size_t i = 1; i + 1 < block.path.size(); ++i) {
      ConvCall next = after(block.path[i - 1].norm);
      next.sink.out = raw(block.path[i].norm);
      convolve(block.path[i], next);
    }
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
  // The block's input, and at its end its output, where nothing is kept.
  float* current() const { return space_.at(plan().inference); }

  bool running() const {
    return input_.stats.source == NormStats::Source::kRunning;
  }

  void use_running() const {
    for (size_t i = 0; i < network_.norms_.size(); ++i)
      state(i).use_running(norm_input(i));
  }

  // The stem's output and its sums are there.
  bool begins_like_the_last() const {
    if (running()) {
      space_.stem.forget();
      return false;
    }
    const Planes planes = images();
    const NormLayer& norm = network_.norms_[network_.stem_.norm];
    return space_.stem.begin(
        {input_.images, planes.images * planes.plain_image()},
        {norm_input(network_.stem_.norm).running_mean, norm.channels});
  }

  // `blocked`: room for the images in blocks of channels, if need be.
  void convolve_stem(ConvCall call, float* blocked) const {
    const Planes planes = call.input = images();
    call.output = planes_of(network_.stem_.norm);
    if (network_.small_stem_)
      return network_.small_stem_->forward(input_.images, call, crew_);
    const int64_t size = planes.plain_image();
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
    if (block.shortcut_beside()) {
      first.shortcut_sink = shortcut.sink;
      first.shortcut_sums = shortcut.sums;
    }
    convolve(block.path.front(), first);
    if (block.shortcut && block.shortcut->direct)
      convolve(*block.shortcut, shortcut);
  }

  // The end of what comes before block `next`, whose output the block reads.
  // At `out` is already what is added, unless it comes through a shortcut.
  BlockEnd end_before(size_t next, float* out) const {
    BlockEnd end;
    end.out = out;
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
    end.other = block.shortcut ? raw(block.shortcut->norm) : out;
    if (block.shortcut) end.other_scale = state(block.shortcut->norm).factor();
    end.bits = space_.bits[next - 1].data();
    return end;
  }

  void finish_before(size_t next, const BlockEnd& end, Range images) const {
    if (next == 0 && network_.pools_)
      pool_stem(images, end.out);
    else
      finish_block(end, input_of(next), images);
  }

  // Begins to make a block's input again, at `out`: of which blocks the input
  // still has to be made there, from norm layers' inputs that are kept, to come
  // to this one's.
  size_t begin_input(size_t index, float* out) const {
    size_t from = index;
    while (from > 0 && !network_.blocks_[from - 1].shortcut)
      --from;
    if (from > 0 || !plan().makes_stem_again()) return from;
    const size_t norm = network_.stem_.norm;
    const bool at_once = index > 0 && !network_.pools_;
    ConvCall stem;
    stem.sink.out = raw(norm);
    if (at_once) stem.sink = norm_relu(norm, out);
    convolve_stem(stem, space_.at(plan().images));
    return at_once ? 1 : 0;
  }

  void run_block(size_t index) const {
    const Block& block = network_.blocks_[index];
    float* input = space_.at(plan().inputs[index]);
    const BlockEnd end = end_before(index, input);
    ConvCall first;
    first.input = input_of(index);
    first.source.values = input;
    ConvCall shortcut = first;
    first.prepare = [&](Range images) { finish_before(index, end, images); };
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

  void pool_stem(Range images, float* out) const {
    const size_t stem = network_.stem_.norm;
    max_pool(through(stem), planes_of(stem), images, out,
             space_.winners.data());
  }

  // A convolution that reads what comes out of a norm layer.
  ConvCall after(size_t norm) const {
    ConvCall call;
    call.input = planes_of(norm);
    call.source = through(norm);
    return call;
  }

  void run_next(size_t before, const Conv& conv) const {
    ConvCall call = after(before);
    keep(conv.norm, call, space_.sums);
    convolve(conv, call);
    settle(conv.norm, space_.sums);
  }

  void finish(float* features) const {
    const BlockEnd end =
        end_before(network_.blocks_.size(), space_.at(plan().inputs.back()));
    const Planes planes = planes_of(network_.blocks_.back().end());
    crew_.run(input_.count, [&](int64_t image, int64_t) {
      finish_block(end, planes, {image, image + 1});
      average_pool(end.out, planes, {image, image + 1}, features);
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
    convolve_stem(stem, current());
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

void Network::make_again(const NetworkInput& input, int64_t threads,
                         Workspace& space, size_t block) const {
  ForwardPass(*this, input, threads, space).make_again(block);
}

}  // namespace sotta::engine
