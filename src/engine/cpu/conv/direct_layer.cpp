#include "engine/cpu/conv/direct_layer.h"

#include <algorithm>
#include <array>

#include "engine/cpu/conv/direct_conv.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {
namespace {

// Pixels for which all weights are read once: the rows of one GEMM.
constexpr int64_t kPixelsAtOnce = 128;

constexpr size_t kMostTerms = 49;  // 7x7 taps

// Tasks of a few images each, `most` at most. Small batches get smaller tasks,
// so that there are enough for all workers.
struct ImageTasks {
  ImageTasks(int64_t images, int64_t most)
      : images_(images),
        size_(std::min(most, std::max<int64_t>(1, images / 8))) {}

  int64_t count() const { return (images_ + size_ - 1) / size_; }
  Range operator[](int64_t task) const {
    return {task * size_, std::min((task + 1) * size_, images_)};
  }

 private:
  int64_t images_, size_;
};

// The implicit GEMM of the first `count` pixels of a phase.
void convolve(const PixelPhase& phase, int64_t count, const ConvCall& call,
              const float* padded, int64_t plane, const float* weights,
              float* results) {
  const int64_t inputs = call.input.channels;
  const DirectOutput output{results, call.output.plane_size(),
                            call.output.channel_blocks()};
  std::array<DirectTerm, kMostTerms> terms;
  size_t size = 0;
  for (const Tap& tap : phase.taps)
    terms.at(size++) = {
        padded + tap.offset, plane,
        weights + tap.index * inputs * output.blocks * kChannelBlock, inputs};
  for (int64_t first = 0; first < count; first += kPixelsAtOnce)
    direct_conv(terms.data(), static_cast<int64_t>(size),
                {phase.from.data() + first, phase.to.data() + first,
                 std::min(kPixelsAtOnce, count - first)},
                output);
}

}  // namespace

DirectLayer::DirectLayer(const ConvShape& shape, const float* weights)
    : shape_(shape),
      forward_(pack_taps(shape, weights, false)),
      backward_(pack_taps(shape, weights, true)) {}

DirectLayer::Geometry DirectLayer::geometry(
    const ActivationShape& input) const {
  const ActivationShape output = shape_.output(input);
  Geometry geometry;
  geometry.images =
      std::max<int64_t>(1, kPixelsAtOnce / (output.height * output.width));
  geometry.forward = forward_geometry(shape_, input, geometry.images);
  geometry.backward = backward_geometry(shape_, input, geometry.images);
  return geometry;
}

void DirectLayer::run(const ConvCall& call, const Direction& direction,
                      const KernelContext& context) {
  const DirectGeometry& geometry = direction.geometry;
  const ImageTasks tasks(call.input.images, direction.images);
  const int64_t channels = call.output.channels;
  for (int64_t i = 0; i < context.threads; ++i) {
    context.scratch[i].operand.reserve<float>(
        direction.images * call.input.channel_blocks() * geometry.plane);
    ensure_size(context.scratch[i].product,
                direction.images * call.output.image_size());
  }
  if (call.sums) call.sums->reserve(tasks.count(), channels);
  context.run(tasks.count(), [&](int64_t task, int64_t worker) {
    const Range images = tasks[task];
    float* padded = context.scratch[worker].operand.as<float>();
    float* results = context.scratch[worker].product.data();
    if (call.prepare) call.prepare(images);
    pad_planes(call.prologue, call.input, images, geometry.border, padded);
    for (const PixelPhase& phase : geometry.phases) {
      const auto all = static_cast<int64_t>(phase.from.size());
      convolve(phase, all / direction.images * images.size(), call, padded,
               geometry.plane, direction.weights.data(), results);
    }
    apply_epilogue(task_epilogue(call.epilogue, call.sums, task, call.output),
                   call.output, images, results);
  });
  if (call.sums) call.sums->total(tasks.count(), channels);
}

}  // namespace sotta::engine
