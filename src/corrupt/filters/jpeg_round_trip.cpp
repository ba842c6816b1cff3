#include "corrupt/filters/jpeg_round_trip.h"

#include <algorithm>
#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace sotta {
namespace {

// All numbers are whole and below 2^53, so float64 is exact; a division by a
// power of two with a floor is the originals' right shift.
constexpr int64_t kBlock = 8;

using Table = std::array<int64_t, kBlock * kBlock>;

// The example tables of the JPEG standard, for quality 50.
constexpr Table kLuminance = {16, 11, 10, 16, 24,  40,  51,  61,   //
                              12, 12, 14, 19, 26,  58,  60,  55,   //
                              14, 13, 16, 24, 40,  57,  69,  56,   //
                              14, 17, 22, 29, 51,  87,  80,  62,   //
                              18, 22, 37, 56, 68,  109, 103, 77,   //
                              24, 35, 55, 64, 81,  104, 113, 92,   //
                              49, 64, 78, 87, 103, 121, 120, 101,  //
                              72, 92, 95, 98, 112, 100, 103, 99};
constexpr Table kChrominance = {17, 18, 24, 47, 99, 99, 99, 99,  //
                                18, 21, 26, 66, 99, 99, 99, 99,  //
                                24, 26, 56, 99, 99, 99, 99, 99,  //
                                47, 66, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99};

// The cosine transform, rows by frequency, times 8192 * sqrt(8) / 2. Neighbours
// such as 6436 and 6437 differ because the fast algorithm adds up constants of
// 13 bits.
constexpr Table kTransform = {
    8192,  8192,   8192,   8192,   8192,   8192,  8192,   8192,    //
    11363, 9633,   6437,   2260,   -2260,  -6437, -9633,  -11363,  //
    10703, 4433,   -4433,  -10703, -10703, -4433, 4433,   10703,   //
    9633,  -2259,  -11362, -6436,  6436,   11362, 2259,   -9633,   //
    8192,  -8192,  -8192,  8192,   8192,   -8192, -8192,  8192,    //
    6437,  -11362, 2261,   9633,   -9633,  -2261, 11362,  -6437,   //
    4433,  -10704, 10704,  -4433,  -4433,  10704, -10704, 4433,    //
    2260,  -6436,  9633,   -11363, 11363,  -9633, 6436,   -2260};

at::Tensor matrix_of(const Table& table) {
  return at::tensor(at::ArrayRef<int64_t>(table))
      .to(at::kDouble)
      .view({kBlock, kBlock});
}

at::Tensor quantisation_table(const Table& base, int64_t quality) {
  const int64_t scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  Table scaled = base;
  for (int64_t& step : scaled)
    step = std::clamp<int64_t>((step * scale + 50) / 100, 1, 255);
  return matrix_of(scaled).t().contiguous();
}

// floor((values + added) / 2^bits), in place.
at::Tensor shifted(at::Tensor values, double added, int bits) {
  return values.add_(added).mul_(1.0 / static_cast<double>(1 << bits)).floor_();
}

// Repeats the last row or column up to a multiple of `unit`.
at::Tensor fill_up(const at::Tensor& images, int64_t dimension, int64_t unit) {
  const int64_t size = images.size(dimension);
  const int64_t missing = (unit - size % unit) % unit;
  if (missing == 0) return images;
  const at::Tensor last = images.narrow(dimension, size - 1, 1);
  return at::cat({images, last.repeat_interleave(missing, dimension)},
                 dimension);
}

// [N, 3, H, W] to Y, Cb and Cr, each [N, H, W].
std::array<at::Tensor, 3> ycc_from_rgb(const at::Tensor& rgb) {
  const at::Tensor r = rgb.select(1, 0);
  const at::Tensor g = rgb.select(1, 1);
  const at::Tensor b = rgb.select(1, 2);
  constexpr double kCentre = 128 * 65536 + 32767;
  return {shifted(r * 19595 + g * 38470 + b * 7471, 32768, 16),
          shifted(r * -11059 + g * -21709 + b * 32768, kCentre, 16),
          shifted(r * 32768 + g * -27439 + b * -5329, kCentre, 16)};
}

at::Tensor rgb_from_ycc(const at::Tensor& y, const at::Tensor& cb,
                        const at::Tensor& cr) {
  const at::Tensor blueness = cb - 128;
  const at::Tensor redness = cr - 128;
  const at::Tensor red = y + shifted(redness * 91881, 32768, 16);
  const at::Tensor green =
      y + shifted(blueness * -22554 + redness * -46802, 32768, 16);
  const at::Tensor blue = y + shifted(blueness * 116130, 32768, 16);
  return at::stack({red, green, blue}, 1).clamp_(0, 255).to(at::kByte);
}

// Means of 2x2 pixels, rounded down and up in turn.
at::Tensor halve(const at::Tensor& plane) {
  const auto every_other = [](const at::Tensor& values, int64_t dimension,
                              int64_t first) {
    return values.slice(dimension, first, values.size(dimension), 2);
  };
  const at::Tensor rows = every_other(plane, -2, 0) + every_other(plane, -2, 1);
  at::Tensor sums = every_other(rows, -1, 0) + every_other(rows, -1, 1);
  every_other(sums, -1, 0).add_(1);
  every_other(sums, -1, 1).add_(2);
  return shifted(sums, 0, 2);
}

// 3 * values + their neighbour before or after; edges are their own neighbours.
at::Tensor blend_neighbour(const at::Tensor& values, int64_t dimension,
                           bool before) {
  const int64_t size = values.size(dimension);
  const at::Tensor neighbours =
      before ? at::cat({values.narrow(dimension, 0, 1),
                        values.narrow(dimension, 0, size - 1)},
                       dimension)
             : at::cat({values.narrow(dimension, 1, size - 1),
                        values.narrow(dimension, size - 1, 1)},
                       dimension);
  return values * 3 + neighbours;
}

// [N, H, W] to [N, 2H, 2W]: weights 3/4 and 1/4 in both directions.
at::Tensor double_size(const at::Tensor& plane) {
  const at::Tensor rows = at::stack({blend_neighbour(plane, -2, true),
                                     blend_neighbour(plane, -2, false)},
                                    -2)
                              .flatten(-3, -2);
  return at::stack({shifted(blend_neighbour(rows, -1, true), 8, 4),
                    shifted(blend_neighbour(rows, -1, false), 7, 4)},
                   -1)
      .flatten(-2, -1);
}

}  // namespace

JpegRoundTrip::JpegRoundTrip(int64_t quality)
    : luminance_(quantisation_table(kLuminance, quality)),
      chrominance_(quantisation_table(kChrominance, quality)) {}

// Columns are filled up before the chroma is halved, rows after it.
at::Tensor JpegRoundTrip::operator()(const at::Tensor& images) const {
  const int64_t height = images.size(2);
  const int64_t width = images.size(3);
  const at::Tensor filled = fill_up(fill_up(images, -1, 2 * kBlock), -2, 2);
  const auto ycc = ycc_from_rgb(filled.to(at::kDouble));
  const at::Tensor y = code_plane(fill_up(ycc[0], -2, kBlock), luminance_);
  const auto chroma = [&](const at::Tensor& plane) {
    // Only as much as the file has beside padding is read for upsampling.
    const at::Tensor decoded =
        code_plane(fill_up(halve(plane), -2, kBlock), chrominance_)
            .narrow(1, 0, (height + 1) / 2)
            .narrow(2, 0, (width + 1) / 2);
    return double_size(decoded).narrow(1, 0, height).narrow(2, 0, width);
  };
  return rgb_from_ycc(y.narrow(1, 0, height).narrow(2, 0, width),
                      chroma(ycc[1]), chroma(ycc[2]));
}

// [N, H, W] through transform, quantisation and back. The two passes of each
// transform round in between. Blocks are held transposed where the columns are
// transformed, so that every product is one with a matrix on the right.
at::Tensor JpegRoundTrip::code_plane(const at::Tensor& plane,
                                     const at::Tensor& quantisation) const {
  const int64_t down = plane.size(1) / kBlock;
  const int64_t across = plane.size(2) / kBlock;
  const at::Tensor transform = matrix_of(kTransform).to(plane.device());
  const at::Tensor steps = quantisation.to(plane.device());
  const auto turned = [](const at::Tensor& blocks) {
    return blocks.transpose(-1, -2).contiguous();
  };

  at::Tensor blocks = (plane - 128)
                          .view({-1, down, kBlock, across, kBlock})
                          .transpose(2, 3)
                          .contiguous();
  blocks = shifted(blocks.matmul(transform.t()), 1024, 11);
  blocks = shifted(turned(blocks).matmul(transform.t()), 16384, 15);
  const at::Tensor levels =
      ((blocks.abs() + steps * 4) / (steps * 8)).floor_().mul_(blocks.sign());
  blocks = shifted((levels * steps).matmul(transform), 1024, 11);
  blocks = shifted(turned(blocks).matmul(transform), 131072, 18);
  return blocks.add_(128).clamp_(0, 255).transpose(2, 3).reshape(plane.sizes());
}

}  // namespace sotta
