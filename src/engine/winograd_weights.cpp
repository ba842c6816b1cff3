// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/winograd_weights.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/winograd.h"
#include "engine/winograd_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// One kernel per lane, `step` numbers apart, to values `stride` apart.
template <class Line>
HWY_INLINE void pack_kernels(const float* kernels, int64_t step, bool turned,
                             float* to, int64_t stride) {
  constexpr int kTaps = Line::kTaps, kKernels = Line::kKernels;
  const hn::RebindToSigned<Tag> indices;
  const auto index = hn::Mul(hn::Iota(indices, 0),
                             hn::Set(indices, static_cast<int32_t>(step)));
  Vec half[kKernels][kTaps];
  for (int j = 0; j < kTaps; ++j) {
    Vec in[kTaps], out[kKernels];
    for (int i = 0; i < kTaps; ++i) {
      const int tap = kTaps * i + j;
      in[i] = hn::GatherIndex(
          Tag(), kernels + (turned ? kTaps * kTaps - 1 - tap : tap), index);
    }
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

template <class Line>
void pack_blocks(const WinogradWeights& from, Range output_blocks,
                 float* packed) {
  constexpr int64_t kSize = Line::kTaps * Line::kTaps;
  const int64_t inputs = from.backward ? from.outputs : from.inputs;
  const int64_t outputs = from.backward ? from.inputs : from.outputs;
  const int64_t per_output = from.backward ? kSize : kSize * from.inputs;
  const int64_t per_input = from.backward ? kSize * from.inputs : kSize;
  for (int64_t o = output_blocks.begin * kBlock; o < output_blocks.end * kBlock;
       o += kLanes)
    for (int64_t i = 0; i < inputs; ++i)
      pack_kernels<Line>(
          from.weights + o * per_output + i * per_input, per_output,
          from.backward,
          packed + (o / kBlock * inputs + i) * kBlock + o % kBlock,
          packed_stride(inputs, outputs));
}

void pack_weights(const WinogradWeights& from, Range output_blocks,
                  float* packed) {
  with_lines(from.tiling, [&](auto line) HWY_ATTR {
    pack_blocks<decltype(line)>(from, output_blocks, packed);
  });
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(pack_weights);

void pack_winograd(const WinogradWeights& weights, Range output_blocks,
                   float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_weights)(weights, output_blocks, packed);
}

}  // namespace sotta::engine
#endif
