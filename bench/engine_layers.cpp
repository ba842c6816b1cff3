// Where the fused engine's time goes: processor milliseconds of every kind of
// layer of ResNet18-CIFAR in one inference pass of 64 images, on one thread,
// and what arithmetic alone would take at the speed of the multiplication; and
// of the backward layers with wide tiles, F(4x8,3x3).
//   engine_layers [SIMD target]
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ops/rand.h>

#include "bench/paired.h"
#include "engine/cpu/conv/stem_layer.h"
#include "engine/cpu/simd_target.h"
#include "engine/cpu/winograd/winograd.h"

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

// The three steps of a kind of convolution, some tiles at a time.
struct Kind {
  const char* name;
  Tiling tiling;
  int64_t inputs, outputs, extent;  // of the values that are read
  int layers;

  bool backward() const { return tiling == Tiling::kF4x8; }
};

// What stands before and behind a convolution inside a block, with one `factor`
// for all vectors.
Prologue prologue_of(const Kind& kind, const float* values,
                     const float* pre_norm, const float* factor) {
  Prologue prologue;
  prologue.kind = kind.backward() ? Prologue::Kind::kNormBackward
                                  : Prologue::Kind::kNormRelu;
  prologue.values = values;
  prologue.pre_norm = pre_norm;
  prologue.scale = prologue.slope = prologue.shift = factor;
  return prologue;
}

Epilogue epilogue_of(const Kind& kind, const float* pre_norm,
                     const float* factor, std::vector<double>& sums,
                     float* out) {
  sums.resize(static_cast<size_t>(kSumRows * kind.outputs));
  Epilogue epilogue;
  epilogue.kind = kind.backward() ? Epilogue::Kind::kReluGradient
                                  : Epilogue::Kind::kNormRelu;
  epilogue.out = out;
  epilogue.scale = epilogue.shift = epilogue.centre = factor;
  epilogue.pre_norm = pre_norm;
  epilogue.sums = sums.data();
  epilogue.channels = kind.outputs;
  return epilogue;
}

void show_winograd(const Kind& kind) {
  const int64_t positions = positions_of(kind.tiling);
  const int64_t results = kind.extent * output_step(kind.tiling).rows /
                          input_step(kind.tiling).rows;
  const ActivationShape input{kImages, kind.inputs, kind.extent, kind.extent};
  const ActivationShape output{kImages, kind.outputs, results, results};
  const int64_t all = kImages * tiles_per_image(input, input_step(kind.tiling));
  const int64_t share = 32;
  const int64_t left_stride = position_stride(share, kind.inputs);
  const int64_t right_stride = position_stride(share, kOutputPanel);
  const int64_t weights_stride = packed_stride(kind.inputs, kOutputPanel);
  const int64_t group_size = packed_positions(kind.tiling) * weights_stride;
  const int64_t groups = kind.outputs / kOutputPanel;
  const FloatBuffer values = random_buffer(input.size()),
                    pre_norm = random_buffer(input.size()),
                    left = random_buffer(positions * left_stride),
                    right = random_buffer(positions * right_stride),
                    weights = random_buffer(groups * group_size),
                    out(output.size()),
                    factor = random_buffer(std::max(kind.inputs, kind.outputs));
  std::vector<double> sums;
  const Prologue prologue =
      prologue_of(kind, values.data(), pre_norm.data(), factor.data());
  const Epilogue epilogue =
      epilogue_of(kind, pre_norm.data(), factor.data(), sums, out.data());
  const auto every_share = [&](const auto& work) {
    return kind.layers * milliseconds([&] {
             for (int64_t t = 0; t + share <= all; t += share)
               work(Range{t, t + share});
           });
  };
  std::printf("%s, %d layers\n", kind.name, kind.layers);
  show("  reading and transforming", every_share([&](Range tiles) {
         winograd_input(kind.tiling, prologue, input, tiles,
                        {0, channel_blocks_of(kind.inputs)}, left.data());
       }),
       0);
  show("  multiplying", every_share([&](Range) {
         for (int64_t g = 0; g < groups; ++g)
           for (int64_t p = 0; p < positions; ++p) {
             const float* right_side =
                 weights.data() + g * group_size +
                 packed_position(kind.tiling, p) * weights_stride;
             winograd_gemm({share, kind.inputs, kOutputPanel, kind.inputs},
                           left.data() + p * left_stride, right_side,
                           right.data() + p * right_stride);
           }
       }),
       2.0 * kind.layers *
           static_cast<double>(all / share * share * positions) *
           static_cast<double>(kind.inputs * kind.outputs));
  show("  transforming back and writing", every_share([&](Range tiles) {
         for (int64_t g = 0; g < groups; ++g)
           winograd_output(kind.tiling, epilogue, output, tiles,
                           {g * kOutputPanel, (g + 1) * kOutputPanel},
                           right.data());
       }),
       0);
}

void show_stem() {
  const ActivationShape input{kImages, 3, 32, 32}, output{kImages, 64, 32, 32};
  const FloatBuffer images = random_buffer(kImages * 3 * 32 * 32),
                    weights = random_buffer(64 * 3 * 9), out(output.size());
  const StemLayer layer({3, 64, 3, 1}, weights.data());
  WorkerPool pool;
  WorkerScratch scratch;
  const KernelContext context{&pool, 1, &scratch, nullptr, nullptr};
  ConvCall call;
  call.input = input;
  call.output = output;
  call.epilogue.out = out.data();
  show("stem, all steps",
       milliseconds([&] { layer.forward(images.data(), call, context); }),
       2.0 * static_cast<double>(kImages * 32 * 32 * 3 * 64 * 9));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) use_simd_target(argv[1]);
  show_stem();
  const auto f4x4 = Tiling::kF4x4, stride2 = Tiling::kStride2,
             f4x8 = Tiling::kF4x8;
  for (const Kind& kind :
       {Kind{"64 channels, 32x32", f4x4, 64, 64, 32, 4},
        Kind{"64 to 128 channels, stride 2", stride2, 64, 128, 32, 1},
        Kind{"128 channels, 16x16", f4x4, 128, 128, 16, 3},
        Kind{"128 to 256 channels, stride 2", stride2, 128, 256, 16, 1},
        Kind{"256 channels, 8x8", f4x4, 256, 256, 8, 3},
        Kind{"256 to 512 channels, stride 2", stride2, 256, 512, 8, 1},
        Kind{"512 channels, 4x4", f4x4, 512, 512, 4, 3},
        Kind{"64 channels, 32x32, backward", f4x8, 64, 64, 32, 4},
        Kind{"128 channels, 16x16, backward", f4x8, 128, 128, 16, 3},
        Kind{"256 channels, 8x8, backward", f4x8, 256, 256, 8, 3}})
    show_winograd(kind);
}
