#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "sotta/data/array.h"

namespace sotta {

// Images beyond this many pixels are refused before anything is allocated.
constexpr int64_t kMaxImagePixels = int64_t{1} << 28;

// Whether a file's name ends as those of JPEG and PNG files do, in any case.
bool is_image_name(const std::filesystem::path& file);

// Decodes a JPEG or PNG file, told apart by its first bytes, into RGB:
// uint8 [3, H, W]. Grey and palette images become RGB, alpha is dropped, 16-bit
// samples keep their high byte and CMYK is converted, all as Pillow's
// convert("RGB") does it.
//
// Throws Error: kBadFormat if the file is truncated, damaged, neither JPEG nor
// PNG, or claims more pixels than its size can hold or than `most_pixels`;
// kUnsupported if this build lacks the library for the format. `name` is named
// in messages.
Array decode_image(const std::byte* bytes, int64_t size,
                   const std::string& name,
                   int64_t most_pixels = kMaxImagePixels);

// The same for a file; also throws Error(kNotFound) or Error(kIo).
Array decode_image(const std::filesystem::path& file);

// Writes uint8 [1, H, W] (grey) or [3, H, W] (RGB) as a PNG file, which appears
// under its name only when it is complete. Throws Error: kInvalid for another
// shape or type, kIo if the file cannot be written, kUnsupported without
// libpng.
void write_png(const std::filesystem::path& file, const Array& image);

}  // namespace sotta
