#include "engine/direct_layer.h"

#include <algorithm>
#include <array>

#include "engine/direct_conv.h"
#include "engine/plane_ops.h"

namespace sotta::engine {
namespace {

// Pixels for which one worker reads all weights once.
constexpr int64_t kPixelsAtOnce = 128;

constexpr size_t kMostTerms = 64;  // 7x7 taps and a shortcut's

// The terms of one class of pixels.
class Terms {
 public:
  void add(const std::vector<Tap>& taps, const float* padded, int64_t plane,
           const FloatBuffer& weights, int64_t inputs, int64_t outputs) {
    for (const Tap& tap : taps)
      terms_.at(count_++) = {
          padded + tap.offset, plane,
          weights.data() + tap.index * inputs * blocks_of(outputs) * kBlock,
          inputs};
  }

  void run(const PixelClass& pixels, int64_t count,
           const DirectOutput& output) const {
    direct_conv(terms_.data(), static_cast<int64_t>(count_),
                {pixels.from.data(), pixels.to.data(), count}, output);
  }

 private:
  std::array<DirectTerm, kMostTerms> terms_;
  size_t count_ = 0;
};

Planes output_of(const ConvShape& shape, const Planes& input) {
  return {input.images, shape.outputs, shape.along(input.height),
          shape.along(input.width)};
}

// How many of a class's pixels belong to `images` of the `most` images it was
// made for.
int64_t pixels_of(const PixelClass& pixels, int64_t images, int64_t most) {
  return static_cast<int64_t>(pixels.from.size()) / most * images;
}

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

Sink with_sums(Sink sink, SumSlots* sums, int64_t slot, int64_t channels) {
  sink.channels = channels;
  if (sums) sink.sums = sums->clear(slot, channels);
  return sink;
}

}  // namespace

DirectLayer::DirectLayer(const Conv& main, const std::optional<Conv>& shortcut)
    : main_(pack(main)) {
  if (shortcut) shortcut_ = pack(*shortcut);
}

DirectLayer::Packed DirectLayer::pack(const Conv& conv) {
  return {conv.shape, pack_taps(conv.shape, conv.weights, false),
          pack_taps(conv.shape, conv.weights, true)};
}

DirectLayer::Geometry DirectLayer::geometry(const Planes& input) const {
  const int64_t pixels =
      main_.shape.along(input.height) * main_.shape.along(input.width);
  Geometry geometry;
  geometry.images = std::max<int64_t>(1, kPixelsAtOnce / pixels);
  geometry.forward = forward_geometry(main_.shape, input, geometry.images,
                                      main_.shape.padding());
  int64_t border = backward_border(main_.shape);
  if (shortcut_) {
    border = std::max(border, backward_border(shortcut_->shape));
    geometry.shortcut_forward = forward_geometry(
        shortcut_->shape, input, geometry.images, main_.shape.padding());
    geometry.shortcut_backward =
        backward_geometry(shortcut_->shape, input, geometry.images, border);
  }
  geometry.backward =
      backward_geometry(main_.shape, input, geometry.images, border);
  return geometry;
}

void DirectLayer::forward(const Forward& pass, const Geometry& geometry,
                          const Crew& crew) const {
  const ConvCall& call = pass.call;
  const Planes output = output_of(main_.shape, call.input);
  const Pieces pieces(output.images, geometry.images);
  const int64_t padded_image = call.input.blocks() * geometry.forward.plane;
  for (int64_t i = 0; i < crew.threads; ++i) {
    ensure(crew.scratch[i].left, geometry.images * padded_image);
    ensure(crew.scratch[i].right, geometry.images * output.image());
  }
  if (call.sums) call.sums->reserve(pieces.count(), output.channels);
  if (pass.shortcut_sums)
    pass.shortcut_sums->reserve(pieces.count(), output.channels);
  const auto convolve = [&](const Packed& conv, const DirectGeometry& places,
                            const WorkerScratch& scratch, Range images,
                            const Sink& sink) {
    const PixelClass& pixels = places.classes[0];
    Terms terms;
    terms.add(pixels.taps, scratch.left.data(), places.plane, conv.forward,
              conv.shape.inputs, conv.shape.outputs);
    terms.run(pixels, pixels_of(pixels, images.size(), geometry.images),
              {scratch.right.data(), output.plane(), output.blocks()});
    apply_sink(sink, output, images, scratch.right.data());
  };
  crew.run(pieces.count(), [&](int64_t piece, int64_t worker) {
    const Range images = pieces[piece];
    const WorkerScratch& scratch = crew.scratch[worker];
    if (call.prepare) call.prepare(images);
    if (pass.images)
      for (int64_t n = images.begin; n < images.end; ++n)
        pad_image(pass.images + n * call.input.channels * call.input.height *
                                    call.input.width,
                  call.input, geometry.forward.border,
                  scratch.left.data() + (n - images.begin) * padded_image);
    else
      pad_planes(call.source, call.input, images, geometry.forward.border,
                 scratch.left.data());
    convolve(main_, geometry.forward, scratch, images,
             with_sums(call.sink, call.sums, piece, output.channels));
    if (shortcut_)
      convolve(
          *shortcut_, geometry.shortcut_forward, scratch, images,
          with_sums(pass.shortcut, pass.shortcut_sums, piece, output.channels));
  });
  if (call.sums) call.sums->total(pieces.count(), output.channels);
  if (pass.shortcut_sums)
    pass.shortcut_sums->total(pieces.count(), output.channels);
}

void DirectLayer::backward(const Backward& pass, const Geometry& geometry,
                           const Crew& crew) const {
  const ConvCall& call = pass.call;
  const Planes output = output_of(main_.shape, call.input);
  const Pieces pieces(output.images, geometry.images);
  const DirectGeometry& places = geometry.backward;
  const int64_t padded = geometry.images * output.blocks() * places.plane;
  for (int64_t i = 0; i < crew.threads; ++i) {
    ensure(crew.scratch[i].left, 2 * padded);
    ensure(crew.scratch[i].right, geometry.images * call.input.image());
  }
  if (call.sums) call.sums->reserve(pieces.count(), call.input.channels);
  crew.run(pieces.count(), [&](int64_t piece, int64_t worker) {
    const Range images = pieces[piece];
    const WorkerScratch& scratch = crew.scratch[worker];
    float* main_padded = scratch.left.data();
    float* shortcut_padded = main_padded + padded;
    pad_planes(call.source, output, images, places.border, main_padded);
    if (shortcut_)
      pad_planes(pass.shortcut, output, images, places.border, shortcut_padded);
    for (size_t k = 0; k < places.classes.size(); ++k) {
      const PixelClass& pixels = places.classes[k];
      Terms terms;
      terms.add(pixels.taps, main_padded, places.plane, main_.backward,
                main_.shape.outputs, main_.shape.inputs);
      if (shortcut_)
        terms.add(geometry.shortcut_backward.classes[k].taps, shortcut_padded,
                  places.plane, shortcut_->backward, shortcut_->shape.outputs,
                  shortcut_->shape.inputs);
      terms.run(
          pixels, pixels_of(pixels, images.size(), geometry.images),
          {scratch.right.data(), call.input.plane(), call.input.blocks()});
    }
    apply_sink(with_sums(call.sink, call.sums, piece, call.input.channels),
               call.input, images, scratch.right.data());
  });
  if (call.sums) call.sums->total(pieces.count(), call.input.channels);
}

}  // namespace sotta::engine
