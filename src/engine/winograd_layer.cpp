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
// twenty-fifth of the time.
constexpr int64_t kKeptWeights = 3 << 20;  // numbers: 12 MB

// Inputs whose weights a worker transforms at once.
constexpr int64_t kInputsPacked = 32;

// Tiles that a worker who goes apart takes at once, and workers who go
// together.
constexpr int64_t kTilesApart = 24;
constexpr int64_t kTilesTogether = 128;

// Images of one piece of work.
int64_t images_at_once(int64_t tiles_per_image) {
  return std::max<int64_t>(1, 32 / tiles_per_image);
}

int64_t pieces_of(int64_t whole, int64_t piece) {
  return (whole + piece - 1) / piece;
}

Range piece_of(Range whole, int64_t piece, int64_t index) {
  const int64_t first = whole.begin + index * piece;
  return {first, std::min(first + piece, whole.end)};
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

// One call's fixed facts, and its steps for some tiles.
struct Job {
  const ConvCall& call;
  const Crew& crew;
  const Direction& direction;

  int64_t inputs() const { return direction.inputs; }
  int64_t outputs() const { return direction.outputs; }
  int64_t groups() const { return pieces_of(outputs(), kGroup); }
  Range group(int64_t index) const {
    return piece_of({0, outputs()}, kGroup, index);
  }
  Tiling tiling() const { return direction.main.tiling; }
  int64_t products() const {
    return static_cast<int64_t>(direction.products.size());
  }
  int64_t tiles_per_image() const {
    return tiles_of_image(call.input, step_in(tiling()));
  }

  void ensure_tiles(WorkerScratch& scratch, int64_t tiles) const {
    const int64_t columns = std::min(outputs(), kGroup);
    ensure(scratch.left, direction.lefts * position_stride(tiles, inputs()));
    ensure(scratch.right, products() * position_stride(tiles, columns));
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

  // For some outputs, with their weights.
  void multiply(int64_t index, int64_t tiles, int64_t columns,
                const float* weights, const WorkerScratch& scratch) const {
    const auto& product = direction.products[static_cast<size_t>(index)];
    WinogradTerm terms[2];
    for (int64_t i = 0; i < product.count; ++i)
      terms[i] = {scratch.left.data() +
                      product.terms[i].left * position_stride(tiles, inputs()),
                  weights + product.terms[i].weights *
                                packed_stride(inputs(), columns)};
    winograd_multiply(
        {tiles, inputs(), columns}, terms, product.count,
        scratch.right.data() + index * position_stride(tiles, columns));
  }

  // The call's sinks with slots of their own.
  struct Sinks {
    Sink main, shortcut;
  };
  Sinks sinks_of(int64_t slot) const {
    return {
        with_slot(call.sink, call.sums, slot, call.output),
        with_slot(call.shortcut_sink, call.shortcut_sums, slot, call.output)};
  }

  // Some blocks of a group of outputs.
  void write(const Sinks& sinks, Range tiles, Range group, Range blocks,
             const WorkerScratch& scratch) const {
    const float* right = scratch.right.data();
    winograd_output(tiling(), sinks.main, call.output, tiles, group, blocks,
                    right);
    const int64_t own = positions_of(tiling());
    if (own < products())
      winograd_output(
          Tiling::kPlain, sinks.shortcut, call.output, tiles, group, blocks,
          right + own * position_stride(tiles.size(), group.size()));
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

// A group's transformed weights, a shortcut's behind the others.
int64_t group_size(const Direction& direction) {
  return (packed_positions(direction.main.tiling) + 1) *
         packed_stride(direction.inputs, kGroup);
}

// Transforms the weights of some groups of outputs.
void pack_groups(const Direction& direction, Range groups, const Crew& crew,
                 FloatBuffer& packed) {
  ensure(packed, groups.size() * group_size(direction));
  const Range columns{groups.begin * kGroup,
                      std::min(groups.end * kGroup, direction.outputs)};
  const int64_t pieces = pieces_of(direction.inputs, kInputsPacked);
  crew.run(groups.size() * pieces, [&](int64_t task, int64_t) {
    const int64_t index = task / pieces;
    const Range group = piece_of(columns, kGroup, index);
    const Range inputs =
        piece_of({0, direction.inputs}, kInputsPacked, task % pieces);
    float* to = packed.data() + index * group_size(direction);
    pack_winograd(direction.main, group, inputs, to);
    if (direction.shortcut.weights)
      pack_winograd(direction.shortcut, group, inputs,
                    to + packed_positions(direction.main.tiling) *
                             packed_stride(direction.inputs, group.size()));
  });
}

// Every worker takes its own images through all three steps.
void run_apart(const Job& job, const float* weights) {
  const int64_t images = job.call.input.images;
  const int64_t per_image = job.tiles_per_image();
  const int64_t share = images_at_once(per_image);
  const int64_t pieces = pieces_of(images, share);
  job.reserve_slots(pieces);
  for (int64_t i = 0; i < job.crew.threads; ++i)
    job.ensure_tiles(job.crew.scratch[i], kTilesApart);
  job.crew.run(pieces, [&](int64_t piece, int64_t worker) {
    const Range mine = piece_of({0, images}, share, piece);
    if (job.call.prepare) job.call.prepare(mine);
    const Job::Sinks sinks = job.sinks_of(piece);
    const WorkerScratch& scratch = job.crew.scratch[worker];
    const Range all{mine.begin * per_image, mine.end * per_image};
    for (int64_t i = 0; i < pieces_of(all.size(), kTilesApart); ++i) {
      const Range tiles = piece_of(all, kTilesApart, i);
      job.read(tiles, {0, blocks_of(job.inputs())}, scratch);
      for (int64_t g = 0; g < job.groups(); ++g) {
        const Range group = job.group(g);
        for (int64_t p = 0; p < job.products(); ++p)
          job.multiply(p, tiles.size(), group.size(),
                       weights + g * group_size(job.direction), scratch);
        job.write(sinks, tiles, group, {0, blocks_of(group.size())}, scratch);
      }
    }
  });
  job.total_slots(pieces);
}

// All workers go through each step together. Without `kept` weights they make
// those of one group of outputs after the other.
void run_together(const Job& job, const float* kept) {
  const Crew& crew = job.crew;
  const int64_t images = job.call.input.images;
  if (job.call.prepare)
    crew.run(images, [&](int64_t image, int64_t) {
      job.call.prepare({image, image + 1});
    });
  const Range all{0, images * job.tiles_per_image()};
  const int64_t most = std::min(all.end, kTilesTogether);
  const int64_t pieces = pieces_of(all.end, most);
  job.reserve_slots(pieces);
  job.ensure_tiles(*crew.shared, most);
  const WorkerScratch& scratch = *crew.shared;
  for (int64_t i = 0; i < pieces; ++i) {
    const Range tiles = piece_of(all, most, i);
    const Job::Sinks sinks = job.sinks_of(i);
    crew.run(blocks_of(job.inputs()), [&](int64_t block, int64_t) {
      job.read(tiles, {block, block + 1}, scratch);
    });
    for (int64_t g = 0; g < job.groups(); ++g) {
      if (!kept) pack_groups(job.direction, {g, g + 1}, crew, *crew.packed);
      const float* weights =
          kept ? kept + g * group_size(job.direction) : crew.packed->data();
      const Range group = job.group(g);
      crew.run(job.products(), [&](int64_t index, int64_t) {
        job.multiply(index, tiles.size(), group.size(), weights, scratch);
      });
      crew.run(blocks_of(group.size()), [&](int64_t block, int64_t) {
        job.write(sinks, tiles, group, {block, block + 1}, scratch);
      });
    }
  }
  job.total_slots(pieces);
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
    if (!weights.shortcut) return;
    direction.shortcut = {weights.shortcut, shape.outputs, shape.inputs,
                          Tiling::kPlain, backward};
    plan_shortcut(direction);
  };
  prepare(forward_, strided ? Tiling::kHalving : Tiling::kSame, false);
  prepare(backward_, strided ? Tiling::kDoubling : Tiling::kSame, true);
}

void WinogradLayer::run(const ConvCall& call, const Crew& crew,
                        const Direction& direction) const {
  const Job job{call, crew, direction};
  const Range groups{0, job.groups()};
  const bool apart = weights_of(direction) <= kCachedWeights;
  const float* weights = nullptr;
  if (keep_) {
    std::call_once(direction.once, [&] {
      pack_groups(direction, groups, crew, direction.packed);
    });
    weights = direction.packed.data();
  } else if (apart) {
    pack_groups(direction, groups, crew, *crew.packed);
    weights = crew.packed->data();
  }
  if (apart)
    run_apart(job, weights);
  else
    run_together(job, weights);
}

}  // namespace sotta::engine
