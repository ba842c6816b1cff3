#include "engine/winograd_layer.h"

#include <algorithm>

namespace sotta::engine {
namespace {

using Direction = WinogradLayer::Direction;

// Transformed weights beyond this stay in no core's cache: then all workers go
// through one position's weights at a time, for many tiles.
constexpr int64_t kCachedWeights = 1 << 20;  // numbers: 4 MB

// Transformed weights beyond this are not kept: those of ResNet18's last stage
// would take as much memory as all activations, and making them anew takes a
// fiftieth of the time.
constexpr int64_t kKeptWeights = 3 << 20;  // numbers: 12 MB

// Tiles of one piece of work, as many as its cache holds.
int64_t tiles_at_once(int64_t channels) {
  return channels >= 128 ? 36 : std::max<int64_t>(18, 1152 / channels);
}

// Tiles that all workers go through together.
constexpr int64_t kTilesTogether = 128;

// Images of one piece of work.
int64_t images_at_once(int64_t tiles_per_image) {
  return std::max<int64_t>(1, 32 / tiles_per_image);
}

int64_t weights_of(const Direction& direction) {
  return direction.inputs * direction.outputs *
         packed_positions(direction.main.tiling);
}

void reserve(SumSlots* sums, int64_t slots, int64_t channels) {
  if (sums) sums->reserve(slots, channels);
}

void total(SumSlots* sums, int64_t slots, int64_t channels) {
  if (sums) sums->total(slots, channels);
}

Sink with_slot(Sink sink, SumSlots* sums, int64_t slot, int64_t channels) {
  sink.channels = channels;
  if (sums) sink.sums = sums->clear(slot, channels);
  return sink;
}

// One call's fixed facts, and its steps for some tiles.
struct Job {
  const ConvCall& call;
  const Crew& crew;
  const Direction& direction;
  const float* weights;

  int64_t inputs() const { return direction.inputs; }
  int64_t outputs() const { return direction.outputs; }
  Tiling tiling() const { return direction.main.tiling; }
  bool has_shortcut() const { return direction.shortcut.weights != nullptr; }
  int64_t products() const {
    return static_cast<int64_t>(direction.products.size());
  }
  int64_t tiles_per_image() const {
    return tiles_of_image(call.input, step_in(tiling()));
  }

  void ensure_tiles(WorkerScratch& scratch, int64_t tiles) const {
    ensure(scratch.left, direction.lefts * position_stride(tiles, inputs()));
    ensure(scratch.right, products() * position_stride(tiles, outputs()));
  }

  void read(Range tiles, Range blocks, const WorkerScratch& scratch) const {
    float* left = scratch.left.data();
    winograd_input(tiling(), call.source, call.input, tiles, blocks, left);
    const int64_t own = positions_of(tiling());
    if (own < direction.lefts)
      winograd_input(Tiling::kPlain, call.shortcut_source, call.input, tiles,
                     blocks,
                     left + own * position_stride(tiles.size(), inputs()));
  }

  void multiply(int64_t index, int64_t tiles,
                const WorkerScratch& scratch) const {
    const auto& product = direction.products[static_cast<size_t>(index)];
    WinogradTerm terms[2];
    for (int64_t i = 0; i < product.count; ++i)
      terms[i] = {scratch.left.data() +
                      product.terms[i].left * position_stride(tiles, inputs()),
                  weights + product.terms[i].weights *
                                packed_stride(inputs(), outputs())};
    winograd_multiply(
        {tiles, inputs(), outputs()}, terms, product.count,
        scratch.right.data() + index * position_stride(tiles, outputs()));
  }

  // The call's sinks with slots of their own.
  struct Sinks {
    Sink main, shortcut;
  };
  Sinks sinks_of(int64_t slot) const {
    return {with_slot(call.sink, call.sums, slot, outputs()),
            with_slot(call.shortcut_sink, call.shortcut_sums, slot, outputs())};
  }

  void write(const Sinks& sinks, Range tiles, Range blocks,
             const WorkerScratch& scratch) const {
    const float* right = scratch.right.data();
    winograd_output(tiling(), sinks.main, call.output, tiles, blocks, right);
    const int64_t own = positions_of(tiling());
    if (own < products())
      winograd_output(Tiling::kPlain, sinks.shortcut, call.output, tiles,
                      blocks,
                      right + own * position_stride(tiles.size(), outputs()));
  }

  void reserve_slots(int64_t slots) const {
    reserve(call.sums, slots, outputs());
    reserve(call.shortcut_sums, slots, outputs());
  }
  void total_slots(int64_t slots) const {
    total(call.sums, slots, outputs());
    total(call.shortcut_sums, slots, outputs());
  }
};

// Every worker takes its own images through all three steps.
void run_apart(const Job& job) {
  const int64_t images = job.call.input.images;
  const int64_t per_image = job.tiles_per_image();
  const int64_t share = images_at_once(per_image);
  const int64_t pieces = (images + share - 1) / share;
  const int64_t most = tiles_at_once(std::max(job.inputs(), job.outputs()));
  job.reserve_slots(pieces);
  for (int64_t i = 0; i < job.crew.threads; ++i)
    job.ensure_tiles(job.crew.scratch[i], most);
  job.crew.run(pieces, [&](int64_t piece, int64_t worker) {
    const Range mine{piece * share, std::min((piece + 1) * share, images)};
    if (job.call.prepare) job.call.prepare(mine);
    const Job::Sinks sinks = job.sinks_of(piece);
    const WorkerScratch& scratch = job.crew.scratch[worker];
    const int64_t last = mine.end * per_image;
    for (int64_t first = mine.begin * per_image; first < last; first += most) {
      const Range tiles{first, std::min(first + most, last)};
      job.read(tiles, {0, blocks_of(job.inputs())}, scratch);
      for (int64_t p = 0; p < job.products(); ++p)
        job.multiply(p, tiles.size(), scratch);
      job.write(sinks, tiles, {0, blocks_of(job.outputs())}, scratch);
    }
  });
  job.total_slots(pieces);
}

// All workers go through each step together.
void run_together(const Job& job) {
  const Crew& crew = job.crew;
  const int64_t images = job.call.input.images;
  if (job.call.prepare)
    crew.run(images, [&](int64_t image, int64_t) {
      job.call.prepare({image, image + 1});
    });
  const int64_t all = images * job.tiles_per_image();
  const int64_t most = std::min(all, kTilesTogether);
  job.reserve_slots((all + most - 1) / most);
  job.ensure_tiles(*crew.shared, most);
  int64_t group = 0;
  for (int64_t first = 0; first < all; first += most, ++group) {
    const Range tiles{first, std::min(first + most, all)};
    const WorkerScratch& scratch = *crew.shared;
    const Job::Sinks sinks = job.sinks_of(group);
    crew.run(blocks_of(job.inputs()), [&](int64_t block, int64_t) {
      job.read(tiles, {block, block + 1}, scratch);
    });
    crew.run(job.products(), [&](int64_t index, int64_t) {
      job.multiply(index, tiles.size(), scratch);
    });
    crew.run(blocks_of(job.outputs()), [&](int64_t block, int64_t) {
      job.write(sinks, tiles, {block, block + 1}, scratch);
    });
  }
  job.total_slots(group);
}

// The products of the convolution itself.
void plan(Direction& direction) {
  const Tiling tiling = direction.main.tiling;
  direction.inputs =
      direction.main.backward ? direction.main.outputs : direction.main.inputs;
  direction.outputs =
      direction.main.backward ? direction.main.inputs : direction.main.outputs;
  direction.lefts = positions_of(tiling);
  for (int64_t p = 0; p < positions_of(tiling); ++p)
    direction.products.push_back({{{p, packed_position(tiling, p)}, {}}, 1});
}

// Those of the shortcut, whose packed weights come after the others: forward it
// reads what the middle taps read, backward it adds to what these give.
void plan_shortcut(Direction& direction) {
  const Tiling tiling = direction.main.tiling;
  const int64_t weights = packed_positions(tiling);
  for (int64_t p = 0; p < positions_of(Tiling::kPlain); ++p) {
    const int64_t middle = middle_position(p);
    if (direction.main.backward) {
      auto& product = direction.products[static_cast<size_t>(middle)];
      product.terms[1] = {direction.lefts++, weights};
      product.count = 2;
    } else {
      direction.products.push_back({{{middle, weights}, {}}, 1});
    }
  }
}

}  // namespace

WinogradLayer::WinogradLayer(const ConvShape& shape, const Weights& weights,
                             bool keep_transformed)
    : keep_(keep_transformed &&
            shape.inputs * shape.outputs * packed_positions(Tiling::kSame) <=
                kKeptWeights) {
  const bool strided = shape.stride > 1;
  const auto prepare = [&](Direction& direction, Tiling tiling, bool backward) {
    direction.main = {weights.main, shape.outputs, shape.inputs, tiling,
                      backward};
    plan(direction);
    if (!strided) return;
    direction.shortcut = {weights.shortcut, shape.outputs, shape.inputs,
                          Tiling::kPlain, backward};
    plan_shortcut(direction);
  };
  prepare(forward_, strided ? Tiling::kHalving : Tiling::kSame, false);
  prepare(backward_, strided ? Tiling::kDoubling : Tiling::kSame, true);
}

void WinogradLayer::run(const ConvCall& call, const Crew& crew,
                        const Direction& direction) const {
  const Job job{call, crew, direction, packed(crew, direction)};
  if (weights_of(direction) <= kCachedWeights)
    run_apart(job);
  else
    run_together(job);
}

const float* WinogradLayer::packed(const Crew& crew,
                                   const Direction& direction) const {
  const int64_t stride = packed_stride(direction.inputs, direction.outputs);
  const int64_t own = packed_positions(direction.main.tiling);
  const auto pack = [&](FloatBuffer& buffer) {
    ensure(buffer, (own + 1) * stride);
    crew.run(blocks_of(direction.outputs), [&](int64_t block, int64_t) {
      const Range one{block, block + 1};
      pack_winograd(direction.main, one, buffer.data());
      if (direction.shortcut.weights)
        pack_winograd(direction.shortcut, one, buffer.data() + own * stride);
    });
    return buffer.data();
  };
  if (!keep_) return pack(*crew.packed);
  std::call_once(direction.once, [&] { pack(direction.packed); });
  return direction.packed.data();
}

}  // namespace sotta::engine
