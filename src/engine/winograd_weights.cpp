// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/winograd_weights.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/vector_ops-inl.h"
#include "engine/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Three numbers of a kernel along a line to six values; the points are those of
// winograd_transform.cpp.
HWY_INLINE void transform_kernels(const Vec* in, Vec* out) {
  constexpr double kNear = 0.625, kFar = 1.5;
  constexpr double kNear2 = kNear * kNear, kFar2 = kFar * kFar;
  constexpr double kA = 1 / (2 * kNear2 * (kNear2 - kFar2));
  constexpr double kB = 1 / (2 * kFar2 * (kFar2 - kNear2));
  const auto times = [](double factor, Vec value) HWY_ATTR {
    return hn::Mul(all(static_cast<float>(factor)), value);
  };
  const Vec near = hn::Add(times(kA, in[0]), times(kA * kNear2, in[2]));
  const Vec far = hn::Add(times(kB, in[0]), times(kB * kFar2, in[2]));
  const Vec near_odd = times(kA * kNear, in[1]);
  const Vec far_odd = times(kB * kFar, in[1]);
  out[0] = times(1 / (kNear2 * kFar2), in[0]);
  out[1] = hn::Add(near, near_odd);
  out[2] = hn::Sub(near, near_odd);
  out[3] = hn::Add(far, far_odd);
  out[4] = hn::Sub(far, far_odd);
  out[5] = in[2];
}

// One kernel per lane, `step` numbers apart, to 36 values `stride` apart.
HWY_INLINE void pack_kernels(const float* kernels, int64_t step, bool turned,
                             float* to, int64_t stride) {
  const hn::RebindToSigned<Tag> indices;
  const auto index = hn::Mul(hn::Iota(indices, 0),
                             hn::Set(indices, static_cast<int32_t>(step)));
  Vec half[6][3];
  for (int j = 0; j < 3; ++j) {
    Vec in[3], out[6];
    for (int i = 0; i < 3; ++i)
      in[i] = hn::GatherIndex(
          Tag(), kernels + (turned ? 8 - 3 * i - j : 3 * i + j), index);
    transform_kernels(in, out);
    for (int i = 0; i < 6; ++i)
      half[i][j] = out[i];
  }
  for (int i = 0; i < 6; ++i) {
    Vec out[6];
    transform_kernels(half[i], out);
    for (int j = 0; j < 6; ++j)
      store(out[j], to + (6 * i + j) * stride);
  }
}

void pack_weights(const WinogradWeights& from, Range output_blocks,
                  float* packed) {
  const int64_t inputs = from.backward ? from.outputs : from.inputs;
  const int64_t outputs = from.backward ? from.inputs : from.outputs;
  const int64_t per_output = from.backward ? 9 : 9 * from.inputs;
  const int64_t per_input = from.backward ? 9 * from.inputs : 9;
  for (int64_t o = output_blocks.begin * kBlock; o < output_blocks.end * kBlock;
       o += kLanes)
    for (int64_t i = 0; i < inputs; ++i)
      pack_kernels(from.weights + o * per_output + i * per_input, per_output,
                   from.backward,
                   packed + (o / kBlock * inputs + i) * kBlock + o % kBlock,
                   packed_stride(inputs, outputs));
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
