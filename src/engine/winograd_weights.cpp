// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/winograd_weights.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/winograd.h"
#include "engine/winograd_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Kernels [taps][lanes] to values `stride` apart.
template <class Line>
HWY_INLINE void pack_kernels(const float* kernels, float* to, int64_t stride) {
  constexpr int kTaps = Line::kTaps, kKernels = Line::kKernels;
  Vec half[kKernels][kTaps];
  for (int j = 0; j < kTaps; ++j) {
    Vec in[kTaps], out[kKernels];
    for (int i = 0; i < kTaps; ++i)
      in[i] = load(kernels + (kTaps * i + j) * kLanes);
    Line::kernels(in, out);
    for (int i = 0; i < kKernels; ++i)
      half[i][j] = out[i];
  }
  for (int i = 0; i < kKernels; ++i) {
    Vec out[kKernels];
    Line::kernels(half[i], out);
    for (int j = 0; j < kKernels; ++j)
      store(out[j], to + (kKernels * i + j) * stride);
  }
}

// Kernels that are brought into order at a time: faster than gathering them,
// and a few together let reading wait for writing less.
constexpr int64_t kAtOnce = 8;

// Kernels [inputs][taps][lanes] of some inputs, with an output in each lane.
template <class Line>
HWY_INLINE void arrange_kernels(const WinogradWeights& from, int64_t output,
                                Range inputs, float* kernels) {
  constexpr int64_t kTaps = Line::kTaps * Line::kTaps;
  const int64_t per_output = from.backward ? 1 : from.inputs;
  const int64_t per_input = from.backward ? from.inputs : 1;
  for (int64_t i = inputs.begin; i < inputs.end; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float* kernel =
          from.weights + ((output + lane) * per_output + i * per_input) * kTaps;
      float* to = kernels + (i - inputs.begin) * kTaps * kLanes + lane;
      for (int64_t t = 0; t < kTaps; ++t)
        to[(from.backward ? kTaps - 1 - t : t) * kLanes] = kernel[t];
    }
}

template <class Line>
void pack_rows(const WinogradWeights& from, Range group, Range inputs,
               float* packed) {
  constexpr int64_t kTaps = Line::kTaps * Line::kTaps;
  HWY_ALIGN float kernels[kAtOnce * kTaps * kLanes];
  const int64_t count = from.backward ? from.outputs : from.inputs;
  const int64_t stride = packed_stride(count, group.size());
  for (int64_t first = inputs.begin; first < inputs.end; first += kAtOnce) {
    const Range some{first, HWY_MIN(first + kAtOnce, inputs.end)};
    for (int64_t o = 0; o < group.size(); o += kLanes) {
      arrange_kernels<Line>(from, group.begin + o, some, kernels);
      for (int64_t i = some.begin; i < some.end; ++i)
        pack_kernels<Line>(
            kernels + (i - first) * kTaps * kLanes,
            packed + (o / kBlock * count + i) * kBlock + o % kBlock, stride);
    }
  }
}

void pack_weights(const WinogradWeights& from, Range group, Range inputs,
                  float* packed) {
  with_lines(from.tiling, [&](auto line) HWY_ATTR {
    pack_rows<decltype(line)>(from, group, inputs, packed);
  });
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(pack_weights);

void pack_winograd(const WinogradWeights& weights, Range group, Range inputs,
                   float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_weights)(weights, group, inputs, packed);
}

}  // namespace sotta::engine
#endif
