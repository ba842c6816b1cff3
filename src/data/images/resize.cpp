#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

namespace sotta {
namespace {

// Weights are fixed-point numbers with this many fraction bits: 8 bits of pixel
// and 2 of headroom remain in 32.
constexpr int kFractionBits = 22;

// One output pixel along an axis: a weighted sum of the inputs from `first` on.
struct Footprint {
  int64_t first;
  std::vector<int32_t> weights;
};

Footprint footprint_at(int64_t position, int64_t in_size, double scale) {
  // Shrinking widens the triangle to cover all inputs; growing does not narrow
  // it below one input pixel.
  const double reach = std::max(scale, 1.0);
  const double center = (static_cast<double>(position) + 0.5) * scale;
  const auto first =
      std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
  const auto last =
      std::min<int64_t>(in_size, static_cast<int64_t>(center + reach + 0.5));
  std::vector<double> triangle;
  double sum = 0;
  for (int64_t i = first; i < last; ++i) {
    const double distance =
        std::abs(static_cast<double>(i) - center + 0.5) * (1.0 / reach);
    triangle.push_back(std::max(0.0, 1.0 - distance));
    sum += triangle.back();
  }
  Footprint result{first, {}};
  for (const double height : triangle)
    result.weights.push_back(
        static_cast<int32_t>(0.5 + height / sum * (1 << kFractionBits)));
  return result;
}

std::vector<Footprint> footprints(int64_t in_size, int64_t out_size) {
  const double scale =
      static_cast<double>(in_size) / static_cast<double>(out_size);
  std::vector<Footprint> result;
  for (int64_t i = 0; i < out_size; ++i)
    result.push_back(footprint_at(i, in_size, scale));
  return result;
}

uint8_t round_to_byte(int32_t fixed_point) {
  return static_cast<uint8_t>(std::clamp(fixed_point >> kFractionBits, 0, 255));
}

Array resize_rows(const Array& image, int64_t width) {
  const int64_t in_width = image.shape[2];
  const int64_t rows = image.shape[0] * image.shape[1];
  auto [result, memory] = allocate_array(
      ElementType::kUint8, {image.shape[0], image.shape[1], width});
  auto* out = reinterpret_cast<uint8_t*>(memory);
  const auto columns = footprints(in_width, width);
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* in = image.as<uint8_t>() + row * in_width;
    for (const Footprint& column : columns) {
      int32_t sum = 1 << (kFractionBits - 1);
      const uint8_t* pixel = in + column.first;
      for (const int32_t weight : column.weights)
        sum += weight * *pixel++;
      *out++ = round_to_byte(sum);
    }
  }
  return result;
}

Array resize_columns(const Array& image, int64_t height) {
  const int64_t in_height = image.shape[1], width = image.shape[2];
  auto [result, memory] =
      allocate_array(ElementType::kUint8, {image.shape[0], height, width});
  auto* out = reinterpret_cast<uint8_t*>(memory);
  const auto lines = footprints(in_height, height);
  std::vector<int32_t> sums(static_cast<size_t>(width));
  for (int64_t channel = 0; channel < image.shape[0]; ++channel) {
    const uint8_t* plane = image.as<uint8_t>() + channel * in_height * width;
    for (const Footprint& line : lines) {
      std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
      const uint8_t* pixel = plane + line.first * width;
      for (const int32_t weight : line.weights)
        for (int32_t& sum : sums)
          sum += weight * *pixel++;
      out = std::transform(sums.begin(), sums.end(), out, round_to_byte);
    }
  }
  return result;
}

void check_image(const char* function, const Array& image, int64_t height,
                 int64_t width) {
  require(image.type == ElementType::kUint8 && image.shape.size() == 3 &&
              image.count() > 0,
          function, "expected a uint8 image [C, H, W] with pixels");
  require(height >= 1 && width >= 1 && height <= kMaxImagePixels / width,
          function,
          "expected a size between 1 pixel and 2^28 pixels, got " +
              std::to_string(height) + " x " + std::to_string(width));
}

// Half of an even or odd surplus, as Python's round() rounds it.
int64_t crop_offset(int64_t surplus) {
  const int64_t half = surplus / 2;
  return surplus % 2 == 0 ? half : half + half % 2;
}

}  // namespace

Array resize_bilinear(const Array& image, int64_t height, int64_t width) {
  check_image("resize_bilinear", image, height, width);
  const Array wide =
      width == image.shape[2] ? image : resize_rows(image, width);
  return height == image.shape[1] ? wide : resize_columns(wide, height);
}

Array resize_shorter_side(const Array& image, int64_t size) {
  check_image("resize_shorter_side", image, size, size);
  const int64_t height = image.shape[1], width = image.shape[2];
  return height <= width ? resize_bilinear(image, size, size * width / height)
                         : resize_bilinear(image, size * height / width, size);
}

Array center_crop(const Array& image, int64_t height, int64_t width) {
  check_image("center_crop", image, height, width);
  const int64_t in_height = image.shape[1], in_width = image.shape[2];
  require(height <= in_height && width <= in_width, "center_crop",
          "expected an image of at least " + std::to_string(height) + " x " +
              std::to_string(width) + ", got " + std::to_string(in_height) +
              " x " + std::to_string(in_width));
  const int64_t top = crop_offset(in_height - height);
  const int64_t left = crop_offset(in_width - width);
  auto [result, memory] =
      allocate_array(ElementType::kUint8, {image.shape[0], height, width});
  for (int64_t channel = 0; channel < image.shape[0]; ++channel)
    for (int64_t y = 0; y < height; ++y, memory += width)
      std::memcpy(
          memory,
          image.data.get() + (channel * in_height + top + y) * in_width + left,
          static_cast<size_t>(width));
  return result;
}

}  // namespace sotta
