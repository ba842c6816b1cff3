#include "stream/fitted_dataset.h"

#include <cstring>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/data/array.h"

#include "data/images/resize.h"

namespace sotta {
namespace {

bool grey_or_rgb(const ImageShape& shape) {
  return shape.channels == 1 || shape.channels == 3;
}

// ITU-R 601 luma in 16-bit fixed point, with Pillow's constants.
uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>(
      (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// An image of the dataset as an array of its own, grey if that is asked for.
Array copy_image(const uint8_t* pixels, const ImageShape& shape, bool grey) {
  const int64_t plane = shape.height * shape.width;
  const int64_t channels = grey ? 1 : shape.channels;
  auto [image, memory] = allocate_array(ElementType::kUint8,
                                        {channels, shape.height, shape.width});
  if (channels == shape.channels) {
    std::memcpy(memory, pixels, static_cast<size_t>(image.bytes()));
  } else {
    for (int64_t i = 0; i < plane; ++i)
      memory[i] = static_cast<std::byte>(
          luma(pixels[i], pixels[plane + i], pixels[2 * plane + i]));
  }
  return image;
}

// Three equal channels may as well be made after resizing one.
void fit(const uint8_t* pixels, const ImageShape& from, uint8_t* result,
         const ImageShape& to) {
  const Array image = resize_bilinear(
      copy_image(pixels, from, to.channels == 1), to.height, to.width);
  const auto bytes = static_cast<size_t>(image.bytes());
  const int64_t copies = to.channels / image.shape[0];
  for (int64_t i = 0; i < copies; ++i, result += bytes)
    std::memcpy(result, image.data.get(), bytes);
}

}  // namespace

bool same_shape(const ImageShape& a, const ImageShape& b) {
  return a.channels == b.channels && a.height == b.height && a.width == b.width;
}

FittedDataset::FittedDataset(std::shared_ptr<const Dataset> images,
                             const ImageShape& shape)
    : images_(std::move(images)), shape_(shape) {
  for (const ImageShape& each : {images_->shape(), shape_})
    require(grey_or_rgb(each), "FittedDataset",
            "expected images of 1 or 3 channels, got " +
                std::to_string(each.channels));
}

LabelledImages FittedDataset::get(const std::vector<int64_t>& indices) const {
  const LabelledImages original = images_->get(indices);
  const at::Tensor pixels = original.images.contiguous();
  const auto count = static_cast<int64_t>(indices.size());
  const auto fitted = at::empty(
      {count, shape_.channels, shape_.height, shape_.width}, at::kByte);
  if (count == 0) return {fitted, original.labels};
  const int64_t in_bytes = pixels.numel() / count;
  const int64_t out_bytes = fitted.numel() / count;
  const auto* in = pixels.data_ptr<uint8_t>();
  auto* out = fitted.data_ptr<uint8_t>();
  run_in_threads(count, at::get_num_threads(), [&](int64_t i) {
    fit(in + i * in_bytes, images_->shape(), out + i * out_bytes, shape_);
  });
  return {fitted, original.labels};
}

}  // namespace sotta
