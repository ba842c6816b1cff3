// Where the fused engine's time goes: processor milliseconds of every kind of
// layer of ResNet18-CIFAR in one inference pass of 64 images, on one thread,
// and what arithmetic alone would take at the speed of the multiplication.
//   engine_layers [SIMD target]
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/rand.h>

#include "bench/paired.h"
#include "engine/direct_layer.h"
#include "engine/simd_target.h"
#include "engine/winograd.h"

namespace {

using namespace sotta::engine;  // a program of its own

constexpr int64_t kImages = 64;

template <class Work>
double milliseconds(const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < 7; ++i)
    times.push_back(1e3 * sotta::bench::cost_of(work).cpu);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

FloatBuffer random_buffer(int64_t size) {
  FloatBuffer buffer(size);
  const at::Tensor values = at::rand({size});
  std::copy_n(values.data_ptr<float>(), size, buffer.data());
  return buffer;
}

void show(const char* what, double ms, double flops) {
  std::printf("%-34s %6.1f ms", what, ms);
  if (flops > 0) std::printf(", %4.0f GFLOP/s", flops / ms / 1e6);
  std::printf("\n");
}

// The three steps of one stage's stride-1 convolutions.
void winograd_stage(int64_t channels, int64_t extent, int layers) {
  const Planes planes{kImages, channels, extent, extent};
  const Range all{0, kImages * tiles_of_image(extent, extent)};
  const Range blocks{0, blocks_of(channels)};
  const int64_t share = std::min<int64_t>(all.end, 36);
  const int64_t size = kPositions * position_stride(share, channels);
  const FloatBuffer values = random_buffer(planes.size()),
                    left = random_buffer(size), right = random_buffer(size),
                    weights = random_buffer(kPositions * channels * channels),
                    out(planes.size());
  const FloatBuffer factor = random_buffer(channels);
  Source source;
  source.kind = Source::Kind::kNormRelu;
  source.values = values.data();
  source.scale = source.shift = factor.data();
  Sink sink;
  sink.kind = Sink::Kind::kNormRelu;
  sink.out = out.data();
  sink.scale = sink.shift = factor.data();
  const auto every_share = [&](const auto& work) {
    return layers * milliseconds([&] {
             for (int64_t t = 0; t < all.end; t += share)
               work(Range{t, std::min(t + share, all.end)});
           });
  };
  const double in = every_share([&](Range tiles) {
    winograd_input(source, planes, tiles, blocks, left.data());
  });
  const double products = every_share([&](Range tiles) {
    for (int64_t p = 0; p < kPositions; ++p)
      winograd_multiply({tiles.size(), channels, channels},
                        left.data() + p * position_stride(share, channels),
                        weights.data() + p * channels * channels,
                        right.data() + p * position_stride(share, channels));
  });
  const double outs = every_share([&](Range tiles) {
    winograd_output(sink, planes, tiles, blocks, right.data());
  });
  std::printf("%ld channels, %ldx%ld, %d layers\n", channels, extent, extent,
              layers);
  show("  reading and transforming", in, 0);
  show("  multiplying", products,
       2.0 * layers * static_cast<double>(all.end * kPositions) *
           static_cast<double>(channels * channels));
  show("  transforming back and writing", outs, 0);
}

// A strided convolution with its shortcut, or the stem.
void direct_layer(const char* name, const ConvShape& shape, int64_t extent) {
  const Planes input{kImages, shape.inputs, extent, extent};
  const Planes output{kImages, shape.outputs, shape.along(extent),
                      shape.along(extent)};
  const int64_t taps = shape.kernel * shape.kernel;
  const FloatBuffer values = random_buffer(input.size()),
                    weights =
                        random_buffer(shape.inputs * shape.outputs * taps),
                    out(output.size()), other(output.size());
  std::optional<DirectLayer::Conv> shortcut;
  if (shape.stride > 1)
    shortcut = DirectLayer::Conv{{shape.inputs, shape.outputs, 1, shape.stride},
                                 weights.data()};
  const DirectLayer layer({shape, weights.data()}, shortcut);
  const auto geometry = layer.geometry(input);
  WorkerPool pool;
  WorkerScratch scratch;
  const Crew crew{&pool, 1, &scratch, nullptr, nullptr};
  DirectLayer::Forward pass;
  pass.call.input = input;
  pass.call.source.values = values.data();
  pass.call.sink.out = out.data();
  pass.shortcut.out = other.data();
  const double ms = milliseconds([&] { layer.forward(pass, geometry, crew); });
  show(name, ms,
       2.0 * static_cast<double>(output.images * output.height * output.width) *
           static_cast<double>(shape.inputs * shape.outputs *
                               (taps + (shape.stride > 1 ? 1 : 0))));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) use_simd_target(argv[1]);
  direct_layer("stem", {3, 64, 3, 1}, 32);
  winograd_stage(64, 32, 4);
  direct_layer("64 to 128 channels, stride 2", {64, 128, 3, 2}, 32);
  winograd_stage(128, 16, 3);
  direct_layer("128 to 256 channels, stride 2", {128, 256, 3, 2}, 16);
  winograd_stage(256, 8, 3);
  direct_layer("256 to 512 channels, stride 2", {256, 512, 3, 2}, 8);
  winograd_stage(512, 4, 3);
}
