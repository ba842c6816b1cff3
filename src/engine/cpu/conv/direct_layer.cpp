#include "engine/cpu/conv/direct_layer.h"

#include <algorithm>
#include <array>

#include "engine/cpu/conv/direct_conv.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {
namespace {

// Pixels for which one worker reads all weights once.
constexpr int64_t kPixelsAtOnce = 128;

constexpr size_t kMostTerms = 49;  // 7x7 taps

// Pieces of work: a few images each. Small batches get smaller pieces, so that
// there are enough of them.
struct Pieces {
  Pieces(int64_t images, int64_t most)
      : images_(images),
        share_(std::min(most, std::max<int64_t>(1, images / 8))) {}

  int64_t count() const { return (images_ + share_ - 1) / share_; }
  Range operator[](int64_t piece) const {
    return {piece * share_, std::min((piece + 1) * share_, images_)};
  }

 private:
  int64_t images_, share_;
};

// Sums the taps of the first `count` pixels of a class, some pixels at a time.
void convolve(const PixelClass& pixels, int64_t count, const ConvCall& call,
              const float* padded, int64_t plane, const float* weights,
              float* results) {
  const int64_t inputs = call.input.channels;
  const DirectOutput output{results, call.output.plane(), call.output.blocks()};
  std::array<DirectTerm, kMostTerms> terms;
  size_t size = 0;
  for (const Tap& tap : pixels.taps)
    terms.at(size++) = {padded + tap.offset, plane,
                        weights + tap.index * inputs * output.blocks * kBlock,
                        inputs};
  for (int64_t first = 0; first < count; first += kPixelsAtOnce)
    direct_conv(terms.data(), static_cast<int64_t>(size),
                {pixels.from.data() + first, pixels.to.data() + first,
                 std::min(kPixelsAtOnce, count - first)},
                output);
}

}  // namespace

DirectLayer::DirectLayer(const ConvShape& shape, const float* weights)
    : shape_(shape),
      forward_(pack_taps(shape, weights, false)),
      backward_(pack_taps(shape, weights, true)) {}

DirectLayer::Geometry DirectLayer::geometry(const Planes& input) const {
  const Planes output = shape_.output(input);
  Geometry geometry;
  geometry.images =
      std::max<int64_t>(1, kPixelsAtOnce / (output.height * output.width));
  geometry.forward = forward_geometry(shape_, input, geometry.images);
  geometry.backward = backward_geometry(shape_, input, geometry.images);
  return geometry;
}

void DirectLayer::run(const ConvCall& call, const Direction& direction,
                      const Crew& crew) {
  const DirectGeometry& places = direction.places;
  const Pieces pieces(call.input.images, direction.images);
  const int64_t channels = call.output.channels;
  for (int64_t i = 0; i < crew.threads; ++i) {
    ensure(crew.scratch[i].left,
           direction.images * call.input.blocks() * places.plane);
    ensure(crew.scratch[i].right, direction.images * call.output.image());
  }
  if (call.sums) call.sums->reserve(pieces.count(), channels);
  crew.run(pieces.count(), [&](int64_t piece, int64_t worker) {
    const Range images = pieces[piece];
    float* padded = crew.scratch[worker].left.data();
    float* results = crew.scratch[worker].right.data();
    if (call.prepare) call.prepare(images);
    pad_planes(call.source, call.input, images, places.border, padded);
    for (const PixelClass& pixels : places.classes) {
      const auto all = static_cast<int64_t>(pixels.from.size());
      convolve(pixels, all / direction.images * images.size(), call, padded,
               places.plane, direction.weights.data(), results);
    }
    apply_sink(with_slot(call.sink, call.sums, piece, call.output), call.output,
               images, results);
  });
  if (call.sums) call.sums->total(pieces.count(), channels);
}

}  // namespace sotta::engine
