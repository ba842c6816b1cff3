#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"

#include "corrupt/kinds/kind.h"
#include "tests/support/golden.h"

namespace sotta::testing {

// The draws that were put into the published scripts when the golden values
// were made: a counter generator with 20 bits a number.
class ReferenceDraws {
 public:
  explicit ReferenceDraws(uint64_t stream) : counter_(stream << 32) {}

  double uniform() {
    const uint64_t bits = mix64(++counter_ * 0x9E3779B97F4A7C15) >> 44;
    return static_cast<double>(bits) * 0x1p-20;
  }
  double uniform(double low, double high) {
    return low + (high - low) * uniform();
  }
  // Nearly.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += uniform();
    return sum;
  }
  double integer(double low, double high) {
    return low + std::floor(uniform() * (high - low));
  }

 private:
  uint64_t counter_;
};

inline uint8_t clipped(int64_t level) {
  return static_cast<uint8_t>(std::min<int64_t>(255, level));
}

// The 224x224 image of the golden values: a ramp, a chessboard and a bowl with
// a little noise. uint8 [1, 3, 224, 224].
inline at::Tensor reference_picture() {
  constexpr int64_t side = 224;
  at::Tensor picture = at::empty({1, 3, side, side}, at::kByte);
  auto* level = picture.data_ptr<uint8_t>();
  for (uint64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < side; ++y)
      for (int64_t x = 0; x < side; ++x) {
        const int64_t shapes[] = {
            200 * x / 223, 40 + 160 * ((x / 16 + y / 16) % 2),
            ((x - 112) * (x - 112) + (y - 112) * (y - 112)) / 98};
        const uint64_t key =
            static_cast<uint64_t>(y * side + x) * 1000003 + c + 1;
        const auto noise =
            static_cast<int64_t>(mix64(key * 0x9E3779B97F4A7C15) >> 59);
        *level++ = clipped(shapes[c] + noise);
      }
  return picture;
}

// The golden values keep these rows and columns of a 224x224 result.
inline at::Tensor reference_sample(const at::Tensor& images) {
  return images.select(0, 0).slice(1, 3, 224, 7).slice(2, 3, 224, 7);
}

// Expects `found` to be `expected` but for `share` of the values, which may be
// off by one.
inline void expect_same_bytes(const at::Tensor& found,
                              const at::Tensor& expected, double share) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  const at::Tensor off = (found.to(at::kInt) - expected.to(at::kInt)).abs();
  EXPECT_LE(off.max().item<int>(), share > 0 ? 1 : 0);
  EXPECT_LE((off > 0).to(at::kDouble).mean().item<double>(), share)
      << (off > 0).sum().item<int64_t>() << " of " << off.numel();
}

// draw(source, setting, values) writes one image's draws.
template <class Draw>
Draws reference_draws(const CorruptionKind& kind, const KindSetting& setting,
                      const std::vector<uint64_t>& streams, const Draw& draw) {
  std::vector<at::Tensor> fields;
  int64_t per_image = 0;
  for (const auto& field : kind.fields()) {
    std::vector<int64_t> shape = {static_cast<int64_t>(streams.size())};
    shape.insert(shape.end(), field.begin(), field.end());
    fields.push_back(at::empty(shape, at::kDouble));
    per_image += fields.back().numel() / shape[0];
  }
  for (size_t n = 0; n < streams.size(); ++n) {
    std::vector<double> values(static_cast<size_t>(per_image));
    ReferenceDraws source(streams[n]);
    draw(source, setting, values);
    auto next = values.begin();
    for (auto& field : fields) {
      at::Tensor own = field[static_cast<int64_t>(n)];
      std::copy_n(next, own.numel(), own.data_ptr<double>());
      next += own.numel();
    }
  }
  return fields;
}

// For kinds without draws.
inline void no_draws(ReferenceDraws&, const KindSetting&,
                     std::vector<double>&) {}

// A field per channel and pixel, drawn pixel by pixel as the scripts do.
// draw(source) is one number; `field` counts the fields of this shape before.
template <class Draw>
void draw_pixelwise(ReferenceDraws& source, const KindSetting& setting,
                    size_t field, std::vector<double>& values,
                    const Draw& draw) {
  const auto pixels = static_cast<size_t>(setting.side * setting.side);
  for (size_t pixel = 0; pixel < pixels; ++pixel)
    for (size_t channel = 0; channel < 3; ++channel)
      values[(3 * field + channel) * pixels + pixel] = draw(source);
}

// What became of the golden images of one kind. Severities 1, 3 and 5 are the
// published script's, 2 and 4 a second computation's; of spatter's water (up to
// 3) there is none.
class ReferenceImages {
 public:
  explicit ReferenceImages(const std::string& kind)
      : kind_(kind),
        published_("corruptions/" + kind),
        computed_("corruptions/even_severities") {}

  at::Tensor input() const { return published_["input"]; }
  bool has(int severity) const {
    return severity % 2 == 1 || computed_.has(key("_s", severity));
  }
  // uint8 [2, 3, 32, 32]
  at::Tensor small(int severity) const {
    return severity % 2 == 1 ? published_["s" + std::to_string(severity)]
                             : computed_[key("_s", severity)];
  }
  // uint8 [3, 32, 32], to be compared with a reference_sample()
  at::Tensor large(int severity) const {
    return severity % 2 == 1 ? published_["g224_s" + std::to_string(severity)]
                             : computed_[key("_g224_s", severity)];
  }

 private:
  std::string key(const char* infix, int severity) const {
    return kind_ + infix + std::to_string(severity);
  }

  std::string kind_;
  Golden published_;
  Golden computed_;
};

// Puts the draws of the golden values into a kind and compares, at both sizes
// and all severities. `id` is the kind's number in the streams.
template <class Draw>
void expect_reference(const std::string& name, uint64_t id, double share,
                      const Draw& draw) {
  const ReferenceImages golden(name);
  for (int severity = 1; severity <= 5; ++severity) {
    SCOPED_TRACE("severity " + std::to_string(severity));
    if (!golden.has(severity)) continue;

    KindSetting small;
    small.severity = severity;
    auto kind = make_kind(name, small);
    expect_same_bytes(
        kind->apply(
            golden.input(),
            reference_draws(*kind, small, {100 * id, 100 * id + 1}, draw)),
        golden.small(severity), share);

    KindSetting large = small;
    large.side = 224;
    large.constants = ConstantSet::kImageNet;
    kind = make_kind(name, large);
    expect_same_bytes(
        reference_sample(kind->apply(
            reference_picture(),
            reference_draws(*kind, large, {10000 + 100 * id}, draw))),
        golden.large(severity), share);
  }
}

}  // namespace sotta::testing
