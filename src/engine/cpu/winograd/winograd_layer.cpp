#include "engine/cpu/winograd/winograd_layer.h"

#include <algorithm>

namespace sotta::engine {
namespace {

using Direction = WinogradLayer::Direction;

// Transformed weights beyond this stay in no core's cache: then all workers
// take the same tiles, many, and each multiplies them for outputs of its own.
constexpr int64_t kCachedWeights = 1 << 20;  // numbers: 4 MB

// Transformed weights beyond this are not kept: those of ResNet18's last stage
// would take as much memory as all activations. A worker makes them on the way,
// for few enough inputs at a time to find them near by: 1.2 MB. Wide tiles have
// more, so such layers do without.
constexpr int64_t kKeptWeights = 3 << 20;  // numbers of 6x6 kernels: 12 MB
constexpr int64_t kInputsPacked = 128;

bool are_kept(const ConvShape& shape) {
  return shape.inputs * shape.outputs * packed_positions(Tiling::kSame) <=
         kKeptWeights;
}

// Tiles that a worker who goes apart takes at once, and workers who go
// together: with a stride of 2 fewer, for more products of each. Wide ones have
// more too, but of an image there are half as many.
constexpr int64_t kTilesApart = 24;
constexpr int64_t tiles_together(Tiling tiling) {
  return tiling == Tiling::kSame || tiling == Tiling::kWide ? 128 : 64;
}

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

// Transformed weights of some positions, inputs and outputs, `stride` from
// position to position.
struct Packed {
  Range positions;
  Range inputs;
  const float* weights = nullptr;
  int64_t stride = 0;
};

// One call's fixed facts, and its steps for some tiles.
struct Job {
  const ConvCall& call;
  const Crew& crew;
  const Direction& direction;

  int64_t inputs() const { return direction.inputs; }
  int64_t outputs() const { return direction.outputs; }
  int64_t groups(int64_t width) const { return pieces_of(outputs(), width); }
  Range group(int64_t width, int64_t index) const {
    return piece_of({0, outputs()}, width, index);
  }
  Tiling tiling() const { return direction.main.tiling; }
  int64_t products() const {
    return static_cast<int64_t>(direction.products.size());
  }
  int64_t tiles_per_image() const {
    return tiles_of_image(call.input, step_in(tiling()));
  }

  void ensure_left(FloatBuffer& left, int64_t tiles) const {
    ensure(left, direction.lefts * position_stride(tiles, inputs()));
  }
  void ensure_right(FloatBuffer& right, int64_t tiles, int64_t width) const {
    ensure(right,
           products() * position_stride(tiles, std::min(width, outputs())));
  }

  void read(Range tiles, Range blocks, float* left) const {
    winograd_input(tiling(), call.source, call.input, tiles, blocks, left);
    const int64_t own = positions_of(tiling());
    if (own < direction.lefts)
      winograd_input(Tiling::kPlain, call.shortcut_source, call.input, tiles,
                     blocks,
                     left + own * position_stride(tiles.size(), inputs()));
  }

  // What some weights add to one position's product of some outputs.
  void multiply(int64_t index, int64_t tiles, int64_t columns,
                const Packed& packed, const float* left, float* right) const {
    const auto& product = direction.products[static_cast<size_t>(index)];
    for (int64_t i = 0; i < product.count; ++i) {
      const auto& term = product.terms[i];
      const int64_t position = term.weights - packed.positions.begin;
      if (position < 0 || position >= packed.positions.size()) continue;
      const bool add = i > 0 || packed.inputs.begin > 0;
      winograd_multiply({tiles, packed.inputs.size(), columns, inputs(), add},
                        left + term.left * position_stride(tiles, inputs()) +
                            packed.inputs.begin,
                        packed.weights + position * packed.stride,
                        right + index * position_stride(tiles, columns));
    }
  }
  void multiply_all(int64_t tiles, int64_t columns, const Packed& packed,
                    const float* left, float* right) const {
    for (int64_t p = 0; p < products(); ++p)
      multiply(p, tiles, columns, packed, left, right);
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

  void write(const Sinks& sinks, Range tiles, Range group,
             const float* right) const {
    winograd_output(tiling(), sinks.main, call.output, tiles, group, right);
    const int64_t own = positions_of(tiling());
    if (own < products())
      winograd_output(
          Tiling::kPlain, sinks.shortcut, call.output, tiles, group,
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

// A shortcut's transformed weights come behind the others.
Range main_positions(const Direction& direction) {
  return {0, packed_positions(direction.main.tiling)};
}
Range shortcut_positions(const Direction& direction) {
  const int64_t first = main_positions(direction).end;
  return {first, first + (direction.shortcut.weights ? 1 : 0)};
}

// The weights of a group of outputs.
int64_t group_size(const Direction& direction) {
  return shortcut_positions(direction).end *
         packed_stride(direction.inputs, kGroup);
}

// Transforms all weights.
void pack_groups(const Job& job, FloatBuffer& packed) {
  const Direction& direction = job.direction;
  const Range inputs{0, job.inputs()};
  ensure(packed, job.groups(kGroup) * group_size(direction));
  job.crew.run(job.groups(kGroup), [&](int64_t g, int64_t) {
    const Range group = job.group(kGroup, g);
    float* to = packed.data() + g * group_size(direction);
    pack_winograd(direction.main, group, inputs, to);
    if (direction.shortcut.weights)
      pack_winograd(direction.shortcut, group, inputs,
                    to + main_positions(direction).end *
                             packed_stride(inputs.end, group.size()));
  });
}

// Of these, what belongs to some outputs of one group.
Packed packed_of(const Job& job, const float* weights, Range outputs) {
  const int64_t index = outputs.begin / kGroup;
  return {{0, shortcut_positions(job.direction).end},
          {0, job.inputs()},
          weights + index * group_size(job.direction) +
              outputs.begin % kGroup * job.inputs(),
          packed_stride(job.inputs(), job.group(kGroup, index).size())};
}

// Every worker takes its own images through all three steps.
void run_apart(const Job& job, const float* weights) {
  const int64_t images = job.call.input.images;
  const int64_t per_image = job.tiles_per_image();
  const int64_t share = images_at_once(per_image);
  const int64_t pieces = pieces_of(images, share);
  job.reserve_slots(pieces);
  for (int64_t i = 0; i < job.crew.threads; ++i) {
    job.ensure_left(job.crew.scratch[i].left, kTilesApart);
    job.ensure_right(job.crew.scratch[i].right, kTilesApart, kGroup);
  }
  job.crew.run(pieces, [&](int64_t piece, int64_t worker) {
    const Range mine = piece_of({0, images}, share, piece);
    if (job.call.prepare) job.call.prepare(mine);
    const Job::Sinks sinks = job.sinks_of(piece);
    float* left = job.crew.scratch[worker].left.data();
    float* right = job.crew.scratch[worker].right.data();
    const Range all{mine.begin * per_image, mine.end * per_image};
    for (int64_t i = 0; i < pieces_of(all.size(), kTilesApart); ++i) {
      const Range tiles = piece_of(all, kTilesApart, i);
      job.read(tiles, {0, blocks_of(job.inputs())}, left);
      for (int64_t g = 0; g < job.groups(kGroup); ++g) {
        const Range group = job.group(kGroup, g);
        job.multiply_all(tiles.size(), group.size(),
                         packed_of(job, weights, group), left, right);
        job.write(sinks, tiles, group, right);
      }
    }
  });
  job.total_slots(pieces);
}

// Multiplies for a group of outputs with weights that are made on the way, the
// convolution's or the shortcut's; the memory is asked for the next meanwhile.
void pack_and_multiply(const Job& job, const WinogradWeights& from,
                       Range positions, int64_t tiles, Range group,
                       const WorkerScratch& scratch) {
  float* weights = scratch.left.data();
  const Range all{0, job.inputs()};
  for (int64_t i = 0; i < pieces_of(all.end, kInputsPacked); ++i) {
    const Range inputs = piece_of(all, kInputsPacked, i);
    const Range next = piece_of(all, kInputsPacked, i + 1);
    pack_winograd(from, group, inputs, weights);
    const Packed packed{positions, inputs, weights,
                        packed_stride(inputs.size(), group.size())};
    for (int64_t p = 0; p < job.products(); ++p) {
      prefetch_winograd(from, group, next, p, job.products());
      job.multiply(p, tiles, group.size(), packed, job.crew.shared->data(),
                   scratch.right.data());
    }
  }
}

void multiply_group(const Job& job, const float* kept, int64_t tiles,
                    Range group, const WorkerScratch& scratch) {
  const Direction& direction = job.direction;
  if (kept)
    return job.multiply_all(tiles, group.size(), packed_of(job, kept, group),
                            job.crew.shared->data(), scratch.right.data());
  pack_and_multiply(job, direction.main, main_positions(direction), tiles,
                    group, scratch);
  if (direction.shortcut.weights)
    pack_and_multiply(job, direction.shortcut, shortcut_positions(direction),
                      tiles, group, scratch);
}

// Outputs of a group: fewer where some workers would have none otherwise.
int64_t group_width(int64_t outputs, int64_t workers) {
  int64_t width = kGroup;
  while (width > kBlock && pieces_of(outputs, width) < workers)
    width /= 2;
  return width;
}

// Workers read some tiles together; then each takes groups of outputs, with the
// `kept` weights if there are any.
void run_together(const Job& job, const float* kept) {
  const Crew& crew = job.crew;
  const int64_t images = job.call.input.images;
  if (job.call.prepare)
    crew.run(images, [&](int64_t image, int64_t) {
      job.call.prepare({image, image + 1});
    });
  const Range all{0, images * job.tiles_per_image()};
  const int64_t most = std::min(all.end, tiles_together(job.tiling()));
  const int64_t pieces = pieces_of(all.end, most);
  const int64_t width = group_width(job.outputs(), crew.threads);
  job.reserve_slots(pieces);
  job.ensure_left(*crew.shared, most);
  for (int64_t i = 0; i < crew.threads; ++i) {
    if (!kept)
      ensure(crew.scratch[i].left, main_positions(job.direction).end *
                                       packed_stride(kInputsPacked, width));
    job.ensure_right(crew.scratch[i].right, most, width);
  }
  for (int64_t i = 0; i < pieces; ++i) {
    const Range tiles = piece_of(all, most, i);
    const Job::Sinks sinks = job.sinks_of(i);
    crew.run(blocks_of(job.inputs()), [&](int64_t block, int64_t) {
      job.read(tiles, {block, block + 1}, crew.shared->data());
    });
    crew.run(job.groups(width), [&](int64_t g, int64_t worker) {
      const Range group = job.group(width, g);
      const WorkerScratch& scratch = crew.scratch[worker];
      multiply_group(job, kept, tiles.size(), group, scratch);
      job.write(sinks, tiles, group, scratch.right.data());
    });
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

// Whether wide tiles have fewer products: not at widths of up to 4, 9 to 12 and
// 17 to 20, where half of the last one is empty.
bool wide_pays(const Planes& input) {
  const auto products = [&](Tiling tiling) {
    return positions_of(tiling) * tiles_of_image(input, step_in(tiling));
  };
  return products(Tiling::kWide) < products(Tiling::kSame);
}

}  // namespace

WinogradLayer::WinogradLayer(const ConvShape& shape, const Weights& weights,
                             bool keep_transformed)
    : keep_(keep_transformed && are_kept(shape)) {
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
  // With keep_transformed off too: the same bits come out.
  if (!strided && are_kept(shape)) prepare(wide_backward_, Tiling::kWide, true);
}

void WinogradLayer::backward(const ConvCall& call, const Crew& crew) const {
  const bool wide = !wide_backward_.products.empty() && wide_pays(call.input);
  run(call, crew, wide ? wide_backward_ : backward_);
}

void WinogradLayer::run(const ConvCall& call, const Crew& crew,
                        const Direction& direction) const {
  const Job job{call, crew, direction};
  const bool apart = weights_of(direction) <= kCachedWeights;
  const float* weights = nullptr;
  if (keep_) {
    std::call_once(direction.once, [&] { pack_groups(job, direction.packed); });
    weights = direction.packed.data();
  } else if (apart) {
    pack_groups(job, *crew.packed);
    weights = crew.packed->data();
  }
  if (apart)
    run_apart(job, weights);
  else
    run_together(job, weights);
}

}  // namespace sotta::engine
