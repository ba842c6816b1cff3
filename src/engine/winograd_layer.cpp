#include "engine/winograd_layer.h"

#include <algorithm>

namespace sotta::engine {
namespace {

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

// One call's fixed facts.
struct Job {
  const ConvCall& call;
  const Crew& crew;
  const float* weights;
  Planes output;

  int64_t inputs() const { return call.input.channels; }
  int64_t outputs() const { return output.channels; }
  int64_t tiles_per_image() const {
    return tiles_of_image(output.height, output.width);
  }

  void reserve(int64_t slots) const {
    if (call.sums) call.sums->reserve(slots, outputs());
  }

  // The call's sink with a slot of its own.
  Sink sink_of(int64_t slot) const {
    Sink sink = call.sink;
    sink.channels = outputs();
    if (call.sums) sink.sums = call.sums->clear(slot, outputs());
    return sink;
  }

  void multiply(int64_t position, int64_t tiles,
                const WorkerScratch& scratch) const {
    winograd_multiply(
        {tiles, inputs(), outputs()},
        scratch.left.data() + position * position_stride(tiles, inputs()),
        weights + position * packed_stride(inputs(), outputs()),
        scratch.right.data() + position * position_stride(tiles, outputs()));
  }
};

void ensure_tiles(WorkerScratch& scratch, const Job& job, int64_t tiles) {
  ensure(scratch.left, kPositions * position_stride(tiles, job.inputs()));
  ensure(scratch.right, kPositions * position_stride(tiles, job.outputs()));
}

// Every worker takes its own images through all three steps.
int64_t run_apart(const Job& job) {
  const int64_t images = job.output.images;
  const int64_t per_image = job.tiles_per_image();
  const int64_t share = images_at_once(per_image);
  const int64_t pieces = (images + share - 1) / share;
  const int64_t most = tiles_at_once(std::max(job.inputs(), job.outputs()));
  job.reserve(pieces);
  for (int64_t i = 0; i < job.crew.threads; ++i)
    ensure_tiles(job.crew.scratch[i], job, most);
  job.crew.run(pieces, [&](int64_t piece, int64_t worker) {
    const Range mine{piece * share, std::min((piece + 1) * share, images)};
    if (job.call.prepare) job.call.prepare(mine);
    const Sink sink = job.sink_of(piece);
    const WorkerScratch& scratch = job.crew.scratch[worker];
    const int64_t last = mine.end * per_image;
    for (int64_t first = mine.begin * per_image; first < last; first += most) {
      const Range tiles{first, std::min(first + most, last)};
      winograd_input(job.call.source, job.call.input, tiles,
                     {0, blocks_of(job.inputs())}, scratch.left.data());
      for (int64_t p = 0; p < kPositions; ++p)
        job.multiply(p, tiles.size(), scratch);
      winograd_output(sink, job.output, tiles, {0, blocks_of(job.outputs())},
                      scratch.right.data());
    }
  });
  return pieces;
}

// All workers go through each step together.
int64_t run_together(const Job& job) {
  const Crew& crew = job.crew;
  if (job.call.prepare)
    crew.run(job.output.images, [&](int64_t image, int64_t) {
      job.call.prepare({image, image + 1});
    });
  const int64_t all = job.output.images * job.tiles_per_image();
  const int64_t most = std::min(all, kTilesTogether);
  job.reserve((all + most - 1) / most);
  ensure_tiles(*crew.shared, job, most);
  int64_t group = 0;
  for (int64_t first = 0; first < all; first += most, ++group) {
    const Range tiles{first, std::min(first + most, all)};
    const WorkerScratch& scratch = *crew.shared;
    const Sink sink = job.sink_of(group);
    crew.run(blocks_of(job.inputs()), [&](int64_t block, int64_t) {
      winograd_input(job.call.source, job.call.input, tiles, {block, block + 1},
                     scratch.left.data());
    });
    crew.run(kPositions, [&](int64_t position, int64_t) {
      job.multiply(position, tiles.size(), scratch);
    });
    crew.run(blocks_of(job.outputs()), [&](int64_t block, int64_t) {
      winograd_output(sink, job.output, tiles, {block, block + 1},
                      scratch.right.data());
    });
  }
  return group;
}

}  // namespace

WinogradLayer::WinogradLayer(const ConvShape& shape, const float* weights,
                             bool keep_transformed)
    : keep_(keep_transformed &&
            shape.inputs * shape.outputs * kPositions <= kKeptWeights) {
  forward_.weights = {weights, shape.outputs, shape.inputs, false};
  forward_.inputs = shape.inputs;
  forward_.outputs = shape.outputs;
  backward_.weights = {weights, shape.outputs, shape.inputs, true};
  backward_.inputs = shape.outputs;
  backward_.outputs = shape.inputs;
}

void WinogradLayer::run(const ConvCall& call, const Crew& crew,
                        const Direction& direction) const {
  Job job{call, crew, packed(crew, direction), call.input};
  job.output.channels = direction.outputs;
  const bool apart =
      direction.inputs * direction.outputs * kPositions <= kCachedWeights;
  const int64_t slots = apart ? run_apart(job) : run_together(job);
  if (call.sums) call.sums->total(slots, direction.outputs);
}

const float* WinogradLayer::packed(const Crew& crew,
                                   const Direction& direction) const {
  const int64_t size =
      kPositions * packed_stride(direction.inputs, direction.outputs);
  const auto pack = [&](FloatBuffer& buffer) {
    ensure(buffer, size);
    crew.run(blocks_of(direction.outputs), [&](int64_t block, int64_t) {
      pack_winograd(direction.weights, {block, block + 1}, buffer.data());
    });
    return buffer.data();
  };
  if (!keep_) return pack(*crew.packed);
  std::call_once(direction.once, [&] { pack(direction.packed); });
  return direction.packed.data();
}

}  // namespace sotta::engine
