#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sotta/data/array.h"
#include "sotta/data/image.h"

namespace sotta {

// A whole image file in memory.
struct EncodedImage {
  const unsigned char* bytes;
  size_t size;
  std::string name;
  int64_t most_pixels = kMaxImagePixels;
};

// One source per format, or its *_none.cpp where the library is absent.
Array decode_jpeg(const EncodedImage& file);  // uint8 [3, H, W]
Array decode_png(const EncodedImage& file);   // uint8 [3, H, W]

// Throws Error(kBadFormat) if the dimensions a header claims are empty, absurd
// or beyond `most_pixels`, what the file's bytes can at best describe.
void check_image_size(const std::string& name, int64_t height, int64_t width,
                      int64_t most_pixels);

// Spreads one row of interleaved RGB over the three planes of [3, H, W].
void store_rgb_row(const unsigned char* rgb, int64_t row, const Array& image,
                   std::byte* planes);

}  // namespace sotta
